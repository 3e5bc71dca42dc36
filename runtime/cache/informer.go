package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Informer is the informer of one kind: over all namespaces, or over several of them as if it were one.
type Informer struct {
	gvk       schema.GroupVersionKind
	prototype object.Object
	parts     map[string]*informer.Informer[object.Object] // by namespace; "" is all
}

// GVK returns the kind.
func (i *Informer) GVK() schema.GroupVersionKind { return i.gvk }

// AddHandler makes h be told of every object and of every change, as [informer.Informer.AddHandler] does. With several
// namespaces h is called from several goroutines.
func (i *Informer) AddHandler(h informer.Handler[object.Object]) *Registration {
	r := &Registration{}
	for _, part := range i.parts {
		r.parts = append(r.parts, part.AddHandler(h))
	}
	return r
}

// Wait blocks until the informer has synced. When ctx ends earlier, the error holds its cause and that of [Informer.Err].
func (i *Informer) Wait(ctx context.Context) error {
	for _, part := range i.parts {
		if err := wait(ctx, part.Synced()); err != nil {
			return errors.Join(fmt.Errorf("%s has not synced: %w", part.Name(), err), i.Err())
		}
	}
	return nil
}

// Err returns why the informer is not in step with the API server, as an *[informer.SyncError], or nil.
func (i *Informer) Err() error {
	for _, part := range i.parts {
		if err := part.Err(); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the objects in the store have the Go type of o.
func (i *Informer) holds(o object.Object) bool {
	return reflect.TypeOf(i.prototype) == reflect.TypeOf(o)
}

// get returns the object with that key. covered is false when its namespace is not cached.
func (i *Informer) get(key object.Key) (o object.Object, found, covered bool) {
	part, covered := i.part(key.Namespace)
	if !covered {
		return nil, false, false
	}
	o, found = part.Store().Get(key)
	return o, found, true
}

// part returns the informer that has the objects of a namespace.
func (i *Informer) part(namespace string) (*informer.Informer[object.Object], bool) {
	if all, ok := i.parts[""]; ok {
		return all, true
	}
	part, ok := i.parts[namespace]
	return part, ok
}

// Registration is one handler's place at an informer.
type Registration struct{ parts []*informer.Registration }

// Wait blocks until the handler has seen all that existed when it was added, or ctx ends.
func (r *Registration) Wait(ctx context.Context) error {
	for _, part := range r.parts {
		if err := wait(ctx, part.Synced()); err != nil {
			return err
		}
	}
	return nil
}

// Remove takes the handler away, as [informer.Registration.Remove] does.
func (r *Registration) Remove() {
	for _, part := range r.parts {
		part.Remove()
	}
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
