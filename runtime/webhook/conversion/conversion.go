package conversion

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Spoke is a version of a kind other than the hub, which has the Go type H.
type Spoke[H object.Object] struct {
	form    reflect.Type // a pointer
	fromHub func(ctx context.Context, hub H, spoke object.Object) error
	toHub   func(ctx context.Context, spoke object.Object, hub H) error
	// ifKnown skips the version if the scheme does not contain it.
	ifKnown bool
}

// NewSpoke returns the version with Go type S, which is a pointer such as *v1.Guestbook. Each function sets the fields
// of its second object, whose metadata are already set. It may retain parts of the first object.
func NewSpoke[H, S object.Object](fromHub func(ctx context.Context, hub H, spoke S) error,
	toHub func(ctx context.Context, spoke S, hub H) error) Spoke[H] {
	return Spoke[H]{
		form:    reflect.TypeFor[S](),
		fromHub: func(ctx context.Context, hub H, spoke object.Object) error { return fromHub(ctx, hub, spoke.(S)) },
		toHub:   func(ctx context.Context, spoke object.Object, hub H) error { return toHub(ctx, spoke.(S), hub) },
	}
}

// FromHub converts hub, including its metadata, to spoke, which must have the type of s.
func (s Spoke[H]) FromHub(ctx context.Context, hub H, spoke object.Object) error {
	if err := copyMetadata(hub, spoke); err != nil {
		return err
	}
	return s.fromHub(ctx, hub, spoke)
}

// ToHub converts spoke, including its metadata, to hub. The metadata of hub do not contain the data that [Keep] stored.
func (s Spoke[H]) ToHub(ctx context.Context, spoke object.Object, hub H) error {
	if err := copyMetadata(spoke, hub); err != nil {
		return err
	}
	if annotations := hub.GetAnnotations(); annotations[keptAnnotation] != "" {
		delete(annotations, keptAnnotation) // the map belongs to the hub
		if len(annotations) == 0 {
			annotations = nil
		}
		hub.SetAnnotations(annotations)
	}
	return s.toHub(ctx, spoke, hub)
}

// New returns an empty object of the version.
func (s Spoke[H]) New() object.Object { return reflect.New(s.form.Elem()).Interface().(object.Object) }

// copyMetadata copies the metadata of from to to. The maps are copied too.
func copyMetadata(from, to object.Object) error {
	source, ok := metadataOf(from)
	target, also := metadataOf(to)
	if !ok || !also {
		return fmt.Errorf("%T and %T: want types with a metav1.ObjectMeta", from, to)
	}
	*target = *source
	target.Labels, target.Annotations = maps.Clone(source.Labels), maps.Clone(source.Annotations)
	return nil
}

func metadataOf(o object.Object) (*metav1.ObjectMeta, bool) {
	accessor, ok := o.(metav1.ObjectMetaAccessor)
	if !ok {
		return nil, false
	}
	m, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta)
	return m, ok
}

// version is one version of a kind.
type version struct {
	gvk     schema.GroupVersionKind
	form    reflect.Type // the struct
	decoder *wire.DocumentDecoder
	fromHub func(ctx context.Context, hub, spoke object.Object) error // nil for the hub
	toHub   func(ctx context.Context, spoke, hub object.Object) error
}

func (v *version) new() object.Object {
	o := reflect.New(v.form).Interface().(object.Object)
	o.GetObjectKind().SetGroupVersionKind(v.gvk)
	return o
}

// decode returns the object in raw. It fails if the object has another version.
func (v *version) decode(raw []byte) (object.Object, error) {
	o := reflect.New(v.form)
	if err := v.decoder.Decode(raw, o.Elem()); err != nil {
		return nil, err
	}
	return o.Interface().(object.Object), nil
}

// kind holds all versions of a kind.
type kind struct {
	owner    server.Owner // owner of the registration
	hub      *version
	versions map[string]*version // by apiVersion, including the hub
}

func newVersion(scheme *runtime.Scheme, form reflect.Type) (*version, error) {
	if form.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("want a pointer to a type of the scheme, not %s", form)
	}
	prototype := reflect.New(form.Elem()).Interface().(object.Object)
	if _, ok := metadataOf(prototype); !ok {
		return nil, fmt.Errorf("%s has no metav1.ObjectMeta", form)
	}
	gvk, err := object.GVK(prototype, scheme)
	if err != nil {
		return nil, err
	}
	// The API server itself restores managedFields, and all other metadata except labels and annotations.
	decoder, err := wire.NewDocumentDecoder(form.Elem(), false)
	return &version{gvk: gvk, form: form.Elem(), decoder: decoder}, err
}

// Converter converts objects of the kinds that [Register] adds. It is an http.Handler that answers the
// ConversionReviews of the API server. Use [New] to create one. It is safe for concurrent use.
type Converter struct {
	logger  *slog.Logger
	decoder *wire.DocumentDecoder
	buffers httpserver.Buffers

	mu    sync.RWMutex
	kinds map[schema.GroupKind]*kind
}

// Kinds returns the registered kinds in order.
func (c *Converter) Kinds() []schema.GroupKind {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.SortedFunc(maps.Keys(c.kinds), func(a, b schema.GroupKind) int {
		return strings.Compare(a.String(), b.String())
	})
}

// Register adds conversions between the hub H and its spokes to c. scheme must contain the kinds of the Go types.
// Register fails if the kind is already registered, or if a spoke has another kind.
func Register[H object.Object](c *Converter, scheme *runtime.Scheme, spokes ...Spoke[H]) error {
	return RegisterFor(c, server.Owner{}, scheme, spokes...)
}

// RegisterFor is [Register] for an owner. It replaces the registration of the kind by an earlier build of the owner.
func RegisterFor[H object.Object](c *Converter, owner server.Owner, scheme *runtime.Scheme, spokes ...Spoke[H]) error {
	hub, err := newVersion(scheme, reflect.TypeFor[H]())
	if err != nil {
		return err
	}
	gk := hub.gvk.GroupKind()
	k := &kind{owner: owner, hub: hub, versions: map[string]*version{hub.gvk.GroupVersion().String(): hub}}
	var errs []error
	for _, s := range spokes {
		if s.ifKnown {
			if _, err := object.GVK(s.New(), scheme); err != nil {
				continue
			}
		}
		errs = append(errs, addSpoke(k, scheme, s))
	}
	if len(spokes) == 0 {
		errs = append(errs, errors.New("there are no spokes"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("conversion of %s: %w", gk, err)
	}
	if len(k.versions) == 1 {
		return nil // no other version is served here
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other, taken := c.kinds[gk]; taken && !owner.Replaces(other.owner) {
		return fmt.Errorf("conversion of %s: it is registered already", gk)
	}
	c.kinds[gk] = k
	return nil
}

func addSpoke[H object.Object](k *kind, scheme *runtime.Scheme, s Spoke[H]) error {
	v, err := newVersion(scheme, s.form)
	if err != nil {
		return err
	}
	apiVersion := v.gvk.GroupVersion().String()
	if v.gvk.GroupKind() != k.hub.gvk.GroupKind() {
		return fmt.Errorf("%s is another kind", v.gvk)
	}
	if _, taken := k.versions[apiVersion]; taken {
		return fmt.Errorf("there are two versions %s", apiVersion)
	}
	v.fromHub = func(ctx context.Context, hub, spoke object.Object) error { return s.FromHub(ctx, hub.(H), spoke) }
	v.toHub = func(ctx context.Context, spoke, hub object.Object) error { return s.ToHub(ctx, spoke, hub.(H)) }
	k.versions[apiVersion] = v
	return nil
}

// convert returns o, which has version from, as an object of version to.
func (k *kind) convert(ctx context.Context, o object.Object, from, to *version) (object.Object, error) {
	if from == to {
		return o, nil
	}
	if from.toHub != nil {
		hub := k.hub.new()
		if err := from.toHub(ctx, o, hub); err != nil {
			return nil, err
		}
		o = hub
	}
	if to.fromHub == nil {
		return o, nil
	}
	spoke := to.new()
	return spoke, to.fromHub(ctx, o, spoke)
}

// Hub is a version of a kind that has no conversions of its own: the other versions convert to and from it.
type Hub interface {
	runtime.Object
	Hub()
}

// Convertible is a version of a kind that has methods for its conversion. [ByMethods] returns its [Spoke].
type Convertible interface {
	object.Object
	// ConvertTo converts this object to a hub.
	ConvertTo(hub Hub) error
	// ConvertFrom converts a hub to this object.
	ConvertFrom(hub Hub) error
}

// ByMethods returns the version with Go type S, which converts to and from the hub H by its own methods. The version is
// skipped if the scheme does not contain it, for example in a test of another version.
func ByMethods[H interface {
	object.Object
	Hub
}, S Convertible]() Spoke[H] {
	spoke := NewSpoke(
		func(_ context.Context, hub H, spoke S) error { return spoke.ConvertFrom(hub) },
		func(_ context.Context, spoke S, hub H) error { return spoke.ConvertTo(hub) },
	)
	spoke.ifKnown = true
	return spoke
}

// Convertibles returns the versions in scheme of the kind of the hub H that have conversion methods, as for
// [ByMethods], for packages that these versions import. It returns none if scheme does not contain the kind.
func Convertibles[H interface {
	object.Object
	Hub
}](scheme *runtime.Scheme) []Spoke[H] {
	hub, err := object.GVK(object.New[H](), scheme)
	if err != nil {
		return nil
	}
	var spokes []Spoke[H]
	for _, version := range scheme.VersionsForGroupKind(hub.GroupKind()) {
		o, err := scheme.New(version.WithKind(hub.Kind))
		if _, converts := o.(Convertible); err != nil || !converts || version == hub.GroupVersion() {
			continue
		}
		spokes = append(spokes, Spoke[H]{
			form:    reflect.TypeOf(o),
			fromHub: func(_ context.Context, hub H, spoke object.Object) error { return spoke.(Convertible).ConvertFrom(hub) },
			toHub:   func(_ context.Context, spoke object.Object, hub H) error { return spoke.(Convertible).ConvertTo(hub) },
		})
	}
	return spokes
}
