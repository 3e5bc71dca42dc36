package conversion

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Converter converts the objects of one kind.
type Converter interface {
	// ConvertObject sets dst to src, in the version of dst.
	ConvertObject(ctx context.Context, src, dst runtime.Object) error
}

// Registry has the converters by kind.
type Registry interface {
	// RegisterConverter adds the converter of a kind. A kind can have only one.
	RegisterConverter(gk schema.GroupKind, converter Converter) error
	// GetConverter returns the converter of a kind.
	GetConverter(gk schema.GroupKind) (Converter, bool)
}

// NewRegistry returns an empty registry.
func NewRegistry() Registry { return &registry{converters: map[schema.GroupKind]Converter{}} }

type registry struct {
	mu         sync.RWMutex
	converters map[schema.GroupKind]Converter
}

// RegisterConverter implements [Registry].
func (r *registry) RegisterConverter(gk schema.GroupKind, converter Converter) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.converters[gk]; ok {
		return fmt.Errorf("failed to register converter for GroupKind %s: converter already registered", gk)
	}
	r.converters[gk] = converter
	return nil
}

// GetConverter implements [Registry].
func (r *registry) GetConverter(gk schema.GroupKind) (Converter, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	converter, ok := r.converters[gk]
	return converter, ok
}

// SpokeConverter converts a version to and from the hub.
type SpokeConverter[hubObject runtime.Object] interface {
	// GetSpoke returns an object of the version.
	GetSpoke() runtime.Object
	// ConvertHubToSpoke sets spoke from hub.
	ConvertHubToSpoke(ctx context.Context, hub hubObject, spoke runtime.Object) error
	// ConvertSpokeToHub sets hub from spoke.
	ConvertSpokeToHub(ctx context.Context, spoke runtime.Object, hub hubObject) error
}

// NewSpokeConverter returns a converter that calls two functions.
func NewSpokeConverter[hubObject, spokeObject client.Object](
	spoke spokeObject,
	convertHubToSpokeFunc func(ctx context.Context, src hubObject, dst spokeObject) error,
	convertSpokeToHubFunc func(ctx context.Context, src spokeObject, dst hubObject) error,
) SpokeConverter[hubObject] {
	return &spokeConverter[hubObject, spokeObject]{spoke, convertHubToSpokeFunc, convertSpokeToHubFunc}
}

type spokeConverter[hubObject, spokeObject client.Object] struct {
	spoke   spokeObject
	fromHub func(ctx context.Context, src hubObject, dst spokeObject) error
	toHub   func(ctx context.Context, src spokeObject, dst hubObject) error
}

// GetSpoke implements [SpokeConverter].
func (c *spokeConverter[hubObject, spokeObject]) GetSpoke() runtime.Object { return c.spoke }

// ConvertHubToSpoke implements [SpokeConverter].
func (c *spokeConverter[hubObject, spokeObject]) ConvertHubToSpoke(
	ctx context.Context, hub hubObject, spoke runtime.Object,
) error {
	return c.fromHub(ctx, hub, spoke.(spokeObject))
}

// ConvertSpokeToHub implements [SpokeConverter].
func (c *spokeConverter[hubObject, spokeObject]) ConvertSpokeToHub(
	ctx context.Context, spoke runtime.Object, hub hubObject,
) error {
	return c.toHub(ctx, spoke.(spokeObject), hub)
}

// NewHubSpokeConverter returns a function that creates a converter between hub and all other versions of the kind in
// the scheme. There must be exactly one of converters for each of these versions.
func NewHubSpokeConverter[hubObject runtime.Object](
	hub hubObject, converters ...SpokeConverter[hubObject],
) func(scheme *runtime.Scheme) (Converter, error) {
	return func(scheme *runtime.Scheme) (Converter, error) {
		gvk, err := apiutil.GVKForObject(hub, scheme)
		if err != nil {
			return nil, fmt.Errorf("failed to create hub spoke converter: failed to get GroupVersionKind for hub: %w", err)
		}
		c := &hubSpokeConverter[hubObject]{scheme, gvk, map[schema.GroupVersionKind]SpokeConverter[hubObject]{}}
		for _, spoke := range converters {
			if err := c.add(spoke); err != nil {
				return nil, fmt.Errorf("failed to create hub spoke converter for %s: %w", gvk.Kind, err)
			}
		}
		return c, c.checkComplete()
	}
}

type hubSpokeConverter[hubObject runtime.Object] struct {
	scheme *runtime.Scheme
	hub    schema.GroupVersionKind
	spokes map[schema.GroupVersionKind]SpokeConverter[hubObject]
}

func (c *hubSpokeConverter[hubObject]) add(spoke SpokeConverter[hubObject]) error {
	gvk, err := apiutil.GVKForObject(spoke.GetSpoke(), c.scheme)
	switch {
	case err != nil:
		return fmt.Errorf("failed to get GroupVersionKind for spoke converter: %w", err)
	case gvk.GroupKind() != c.hub.GroupKind():
		return fmt.Errorf("spoke converter GroupKind %s does not match hub GroupKind %s", gvk.GroupKind(), c.hub.GroupKind())
	case c.spokes[gvk] != nil:
		return fmt.Errorf("duplicate spoke converter for version %s", gvk.Version)
	}
	c.spokes[gvk] = spoke
	return nil
}

// checkComplete fails if a version of the kind has no converter.
func (c *hubSpokeConverter[hubObject]) checkComplete() error {
	want, have := map[string]bool{}, map[string]bool{}
	for gvk := range c.scheme.AllKnownTypes() {
		if gvk.GroupKind() == c.hub.GroupKind() && gvk.Version != runtime.APIVersionInternal && gvk != c.hub {
			want[gvk.Version] = true
		}
	}
	for gvk := range c.spokes {
		have[gvk.Version] = true
	}
	if maps.Equal(want, have) {
		return nil
	}
	return fmt.Errorf("failed to create hub spoke converter for %s: "+
		"expected spoke converter for %s got spoke converter for %s", c.hub.Kind, sorted(want), sorted(have))
}

func sorted(versions map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(versions)), ",")
}

// ConvertObject implements [Converter].
func (c *hubSpokeConverter[hubObject]) ConvertObject(ctx context.Context, src, dst runtime.Object) error {
	from, err := apiutil.GVKForObject(src, c.scheme)
	if err != nil {
		return fmt.Errorf("failed to get GroupVersionKind of src: %w", err)
	}
	to, err := apiutil.GVKForObject(dst, c.scheme)
	if err != nil {
		return fmt.Errorf("failed to get GroupVersionKind of dst: %w", err)
	}
	if from.GroupKind() != to.GroupKind() {
		return fmt.Errorf("src %T and dst %T does not belong to same API Group", src, dst)
	}
	if from == to {
		return fmt.Errorf("conversion is not allowed between same type %T", src)
	}
	hub, isHub := src.(hubObject)
	if from != c.hub || !isHub {
		if hub, err = c.toHub(ctx, from, src, to, dst); err != nil || to == c.hub {
			return err
		}
	}
	spoke := c.spokes[to]
	if spoke == nil {
		return fmt.Errorf("failed to convert from hub: no converter for GroupVersionKind %s", to)
	}
	return spoke.ConvertHubToSpoke(ctx, hub, dst)
}

// toHub converts src to the hub. If dst is a hub, it converts into dst.
func (c *hubSpokeConverter[hubObject]) toHub(
	ctx context.Context, from schema.GroupVersionKind, src runtime.Object, to schema.GroupVersionKind, dst runtime.Object,
) (hub hubObject, err error) {
	spoke := c.spokes[from]
	if spoke == nil {
		return hub, fmt.Errorf("failed to convert to hub: no converter for GroupVersionKind %s", from)
	}
	if to != c.hub {
		if dst, err = c.scheme.New(c.hub); err != nil {
			return hub, fmt.Errorf("failed to allocate an instance for GroupVersionKind %s: %w", c.hub, err)
		}
	}
	hub, ok := dst.(hubObject)
	if !ok {
		return hub, fmt.Errorf("%T is not the hub", dst)
	}
	return hub, spoke.ConvertSpokeToHub(ctx, src, hub)
}
