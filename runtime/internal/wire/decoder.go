package wire

import (
	"fmt"
	"io"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Options say what a [Decoder] builds.
type Options struct {
	// GVK is the kind of the objects. What says to be of another kind is an error.
	GVK schema.GroupVersionKind
	// Serves tells the other kinds of the group version, see [Asked].
	Serves func(kind string) (bool, error)
	// KeepManagedFields builds metadata.managedFields too, which are a third of the bytes of a typical object and are
	// otherwise skipped.
	KeepManagedFields bool
	// Mask are the fields that are built, with all that is below them, such as "metadata" or "status.conditions"; none
	// means all. A path goes through lists. What identifies an object and its state is always built: apiVersion, kind,
	// and of metadata name, namespace, uid, resourceVersion, generation and deletionTimestamp. The objects are marked as
	// such, see [object.Mask].
	Mask []string
	// Formats are what servers are asked for, in order of preference. JSON, which every server has, comes last if it is
	// not named. None means Protobuf and JSON. Protobuf is only asked for if the Go type has that form, as those of
	// built-in kinds do.
	Formats []Format
}

// Decoder reads lists and watches of one kind into objects of one Go type. It is immutable and safe for concurrent use.
type Decoder[T object.Object] struct {
	asked    Asked
	gvk      schema.GroupVersionKind
	typeMeta metav1.TypeMeta // gvk
	form     reflect.Type    // the struct that T points to
	keep     bool            // managedFields
	mask     *mask
	partial  bool // objects get mark
	mark     partial.Mark
	formats  []Format
	backlog  int // bytes of a list that several processors decode
	proto    *protoMask
	value    *valueDecoder // nil for unstructured objects
	list     *valueDecoder // of a metav1.ListMeta
	bookmark *valueDecoder // of a metav1.PartialObjectMetadata

	cursors

	buffers sync.Pool // of *[fullBuffer]byte
}

// NewDecoder returns a Decoder of objects that have the Go type of prototype. T may be that pointer type or an interface
// such as object.Object. It fails when a path of the mask leads to nothing that prototype has, or into what cannot be
// built in part: a map, or a type that decodes itself.
func NewDecoder[T object.Object](prototype T, opts Options) (*Decoder[T], error) {
	form := reflect.TypeOf(prototype)
	if form == nil || form.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("the prototype is %T, which is no pointer", prototype)
	}
	m, err := newMask(opts.Mask, opts.KeepManagedFields)
	if err != nil {
		return nil, err
	}
	d := &Decoder[T]{
		asked:   Asked{GVK: opts.GVK, Metadata: form == reflect.TypeFor[*metav1.PartialObjectMetadata](), Serves: opts.Serves},
		gvk:     opts.GVK,
		form:    form.Elem(),
		partial: len(opts.Mask) > 0,
		mark:    partial.New(opts.Mask),
		keep:    opts.KeepManagedFields,
		backlog: backlogBytes,
		mask:    m,
		formats: formats(opts.Formats, form.Elem()),
		proto:   newProtoMask(m, form.Elem()),
	}
	d.typeMeta.APIVersion, d.typeMeta.Kind = opts.GVK.ToAPIVersionAndKind()
	if d.list, err = newValueDecoder(reflect.TypeFor[metav1.ListMeta](), nil); err != nil {
		return nil, err
	}
	if d.bookmark, err = newValueDecoder(reflect.TypeFor[metav1.PartialObjectMetadata](), nil); err != nil {
		return nil, err
	}
	if d.form != reflect.TypeFor[unstructured.Unstructured]() {
		d.value, err = newValueDecoder(d.form, m)
	}
	return d, err
}

// source returns a source that reads body.
func (d *Decoder[T]) source(body io.Reader) source { return source{body: body, spare: &d.buffers} }

// empty returns a new object.
func (d *Decoder[T]) empty() T { return reflect.New(d.form).Interface().(T) }

// object goes past an object and returns what is to be built of it.
func (d *Decoder[T]) object(c *cursor) (T, error) {
	var none T
	if d.value == nil {
		if b, err := c.peek(); err != nil || b != '{' {
			return none, c.mismatch(reflect.ValueOf(map[string]any(nil)))
		}
		members, err := c.untypedObject(d.mask)
		if err != nil {
			return none, err
		}
		return any(&unstructured.Unstructured{Object: members}).(T), nil
	}
	obj := reflect.New(d.form)
	if err := d.value.decode(c, obj.Elem()); err != nil {
		return none, err
	}
	built := obj.Interface().(T)
	if !d.keep && len(built.GetManagedFields()) > 0 {
		built.SetManagedFields(nil) // the type decodes itself
	}
	return built, nil
}

// accept checks that a decoded object is one of those that were asked for, and makes it what callers get: with its
// apiVersion and kind, and marked if it is masked. An item of a list may be without a kind.
func (d *Decoder[T]) accept(obj T, item bool) error {
	kind := obj.GetObjectKind()
	got := kind.GroupVersionKind()
	if !item {
		if err := d.asked.Object(got); err != nil {
			return err
		}
	}
	if err := d.asked.Item(got, obj.GetName()); err != nil {
		return err
	}
	if typeMeta, ok := kind.(*metav1.TypeMeta); ok {
		*typeMeta = d.typeMeta // which allocates nothing
	} else if got != d.gvk {
		kind.SetGroupVersionKind(d.gvk)
	}
	if d.partial {
		d.mark.Put(obj)
	}
	return nil
}

// List reads the list that body is, in the format that contentType names, to its end. What known has is not built again;
// it may be nil. A format that was not asked for and what is no list of the kind are an *[Error], a failure Status is an
// apierrors.APIStatus error; an error of the body is returned as it is.
func (d *Decoder[T]) List(body io.Reader, contentType string, known Known[T]) (*Page[T], error) {
	format, err := FormatOf(contentType, d.formats...)
	switch {
	case err != nil:
		return nil, err
	case format == Protobuf:
		return d.listProto(body, known)
	}
	return d.listJSON(body, known)
}

// Watch returns the stream of the events that body is, in the format that contentType names. Of the events before the
// end of the initial ones, what known has is not built again; it may be nil. A format that was not asked for is the error
// of the first Next.
func (d *Decoder[T]) Watch(body io.Reader, contentType string, known Known[T]) *Stream[T] {
	s := &Stream[T]{decoder: d, cursor: d.cursor(), frames: frames{source: d.source(body)}, known: known}
	format, err := FormatOf(contentType, d.formats...)
	switch {
	case err != nil:
		s.read = func(*Stream[T]) (Event[T], error) { return Event[T]{}, err }
	case format == Protobuf:
		s.read = (*Stream[T]).nextProto
	default:
		s.read = (*Stream[T]).nextJSON
	}
	return s
}
