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

// Options configures a [Decoder].
type Options struct {
	// GVK is the kind of the objects. An object of another kind is an error.
	GVK schema.GroupVersionKind
	// Serves reports whether the server has another kind in the group version, see [Asked].
	Serves func(kind string) (bool, error)
	// KeepManagedFields makes the decoder keep metadata.managedFields. By default they are skipped, because they are a
	// third of the bytes of a typical object.
	KeepManagedFields bool
	// Mask lists the fields to decode, including everything below them, such as "metadata" or "status.conditions". Empty
	// means all fields. A path applies to the elements of a list that it goes through. The fields of the identity are
	// always decoded. Masked objects are marked, see [object.Mask].
	Mask []string
	// Formats are the accepted encodings in order of preference. JSON is added as the last one. Empty means Protobuf and
	// JSON. Protobuf is used only for Go types with a protobuf form, such as the built-in kinds.
	Formats []Format
}

// Decoder reads lists and watches of one kind into objects of one Go type. It is immutable and safe for concurrent use.
type Decoder[T object.Object] struct {
	asked    Asked
	typeMeta metav1.TypeMeta // of asked.GVK
	form     reflect.Type    // the struct type to which T points
	keep     bool            // managedFields
	mask     *mask
	partial  bool // objects get mark
	mark     partial.Mark
	formats  []Format
	backlog  int // bytes of received list data from which on several processors decode
	proto    *protoMask
	value    *valueDecoder // nil for unstructured objects
	list     *valueDecoder // of metav1.ListMeta
	bookmark *valueDecoder // of metav1.PartialObjectMetadata

	cursors

	buffers sync.Pool // of *[fullBuffer]byte
}

// NewDecoder returns a Decoder of objects with the Go type of prototype. T may be that pointer type or an interface
// such as object.Object. It fails if a path of the mask does not exist in prototype, or leads into a value that cannot
// be decoded in part, which is a map or a type with its own decoding method.
func NewDecoder[T object.Object](prototype T, opts Options) (*Decoder[T], error) {
	form := reflect.TypeOf(prototype)
	if form == nil || form.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("the prototype is %T, which is not a pointer", prototype)
	}
	m, err := newMask(opts.Mask, opts.KeepManagedFields)
	if err != nil {
		return nil, err
	}
	d := &Decoder[T]{
		asked: Asked{GVK: opts.GVK, Metadata: form == reflect.TypeFor[*metav1.PartialObjectMetadata](),
			Serves: opts.Serves},
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

func (d *Decoder[T]) source(body io.Reader) source { return source{body: body, spare: &d.buffers} }

// object skips an object and returns its decoded part.
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
		built.SetManagedFields(nil) // because the type has its own decoding method
	}
	return built, nil
}

// accept checks a decoded object against the request, sets its apiVersion and kind, and marks it if it is masked. An
// item of a list may have no kind.
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
		*typeMeta = d.typeMeta // this allocates nothing
	} else if got != d.asked.GVK {
		kind.SetGroupVersionKind(d.asked.GVK)
	}
	if d.partial {
		d.mark.Put(obj)
	}
	return nil
}

// List decodes the list in body, in the format of contentType. It reuses objects that known returns; known may be nil.
// It returns an *[Error] for a format that was not requested and for a body that is not a list of the kind, and an
// apierrors.APIStatus error for the Status of a failure. It returns errors of the body unchanged.
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

// Watch returns the stream of the events in body, in the format of contentType. Until the end of the initial events, it
// reuses objects that known returns; known may be nil. If the format was not requested, the first call of Next returns
// an error.
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
