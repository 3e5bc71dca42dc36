package cache

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Informer is the informer of one kind: over all namespaces, or over several of them as if it were one.
type Informer struct {
	gvk       schema.GroupVersionKind
	prototype object.Object
	live      bool          // reads are for the server
	patience  time.Duration // how long a read waits for the writes before it
	parts     []part        // one for all namespaces, or one for each that is cached, in order
}

// part is the informer of one namespace; "" is all.
type part struct {
	namespace string
	ledger    *ledger
	*informer.Informer[object.Object]
}

// wait blocks until the part has synced. When ctx ends earlier, the error says why it has not.
func (p part) wait(ctx context.Context) error {
	err := wait(ctx, p.Synced())
	if err == nil {
		return nil
	}
	if why := p.Informer.Err(); why != nil {
		return fmt.Errorf("%s has not synced: %w: %w", p.Name(), err, why)
	}
	return fmt.Errorf("%s has not synced: %w", p.Name(), err)
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
		if err := part.wait(ctx); err != nil {
			return err
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

// in returns the parts that together have the objects of a namespace, or of all that are cached when it is "". There
// are none when the namespace is not cached.
func (i *Informer) in(namespace string) []part {
	if namespace == "" {
		return i.parts
	}
	n := slices.IndexFunc(i.parts, func(p part) bool { return p.namespace == "" || p.namespace == namespace })
	if n < 0 {
		return nil
	}
	return i.parts[n : n+1]
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

// wait blocks until done is closed. When ctx ends earlier, the error is that of ctx, with its cause.
func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}
