package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/standin"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Of returns a cache that asks standIn for what this has methods for, under the names that controller-runtime has for them: Get and List,
// IndexField, GetInformer, GetInformerForKind, RemoveInformer, WaitForCacheSync and Start, each of which it may have or not. GetInformer and
// GetInformerForKind return an *[Informer], mostly one of [InformerOf], and have further parameters of no type but any. It is for tests, in which a type of their own stands for the cache; one
// that embeds a *Cache is asked first, and that cache for the rest. Without, what standIn has no method for is an error, as there is no
// API server. What reads through a client of the manager, and [View], [Each] and [NewIndex], do not ask standIn. Of a *Cache returns it.
func Of(standIn any) *Cache {
	if c, ok := standIn.(*Cache); ok {
		return c
	}
	under := embeddedIn(standIn)
	if under == nil {
		live, err := client.New(standin.Config(standIn), client.Options{Scheme: runtime.NewScheme()})
		if err != nil {
			panic(fmt.Errorf("cache of %T: %w", standIn, err)) // a configuration of our own is one that works
		}
		under = New(live, Options{})
	}
	return &Cache{state: under.state, standIn: standIn, under: under}
}

// embeddedIn returns the cache that a stand-in embeds, or nil.
func embeddedIn(standIn any) *Cache {
	if standin.IsNil(standIn) {
		return nil
	}
	if s, ok := standIn.(interface{ embedded() *Cache }); ok {
		return s.embedded()
	}
	return nil
}

// embedded returns c, for those that embed it.
func (c *Cache) embedded() *Cache { return c }

// StandIn returns what [Of] was given for c, and nil for all other caches.
func (c *Cache) StandIn() any { return c.standIn }

// reader returns what stands for the reads of c, or nil.
func (c *Cache) reader() client.Reader {
	if c.standIn == nil {
		return nil
	}
	s, _ := c.standIn.(client.Reader)
	return s
}

// standInInformer returns the informer of the kind of prototype that a stand-in has.
func (c *Cache) standInInformer(prototype object.Object) (*Informer, error) {
	var i *Informer
	var err error
	switch s := c.standIn.(type) {
	case interface {
		GetInformer(context.Context, object.Object, ...any) (*Informer, error)
	}:
		i, err = s.GetInformer(context.Background(), prototype)
	case interface {
		GetInformer(context.Context, object.Object) (*Informer, error)
	}:
		i, err = s.GetInformer(context.Background(), prototype)
	default:
		return c.under.Informer(prototype)
	}
	return i.ofKind(c.kindOf(prototype), prototype), err
}

// standInInformerForKind does so for a kind alone.
func (c *Cache) standInInformerForKind(gvk schema.GroupVersionKind) (*Informer, error) {
	var i *Informer
	var err error
	switch s := c.standIn.(type) {
	case interface {
		GetInformerForKind(context.Context, schema.GroupVersionKind, ...any) (*Informer, error)
	}:
		i, err = s.GetInformerForKind(context.Background(), gvk)
	case interface {
		GetInformerForKind(context.Context, schema.GroupVersionKind) (*Informer, error)
	}:
		i, err = s.GetInformerForKind(context.Background(), gvk)
	default:
		return c.under.InformerForKind(gvk)
	}
	return i.ofKind(gvk, nil), err
}

// standInRemoveInformer removes the informer of the kind of prototype that a stand-in has.
func (c *Cache) standInRemoveInformer(prototype object.Object) error {
	if s, ok := c.standIn.(interface {
		RemoveInformer(context.Context, object.Object) error
	}); ok {
		return s.RemoveInformer(context.Background(), prototype)
	}
	return c.under.RemoveInformer(prototype)
}

// ofKind returns an informer that knows its kind, of one that stands for an informer of any; all others as they are.
func (i *Informer) ofKind(gvk schema.GroupVersionKind, prototype object.Object) *Informer {
	if i == nil || i.standIn == nil {
		return i
	}
	return &Informer{kind: &kind{gvk: gvk}, prototype: prototype, standIn: i.standIn}
}

// standInWait waits for a stand-in to have synced.
func (c *Cache) standInWait(ctx context.Context) error {
	if s, ok := c.standIn.(interface{ WaitForCacheSync(context.Context) bool }); ok {
		return synced(ctx, s.WaitForCacheSync(ctx))
	}
	return c.under.Wait(ctx)
}

// standInRun runs a stand-in.
func (c *Cache) standInRun(ctx context.Context) error {
	if s, ok := c.standIn.(interface{ Start(context.Context) error }); ok {
		return s.Start(ctx)
	}
	return c.under.Run(ctx)
}

// kindOf returns the kind of prototype, whose type a scheme may not know when nobody asks an API server.
func (c *Cache) kindOf(prototype object.Object) schema.GroupVersionKind {
	if gvk, err := object.GVK(prototype, c.live.Scheme()); err == nil {
		return gvk
	}
	if gvk := prototype.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return gvk
	}
	return schema.GroupVersionKind{Kind: reflect.Indirect(reflect.ValueOf(prototype)).Type().Name()}
}

// InformerOf returns an informer whose handlers are those of standIn, which has the method AddEventHandler of an informer of client-go; its
// arguments are of that library's types H and R, which are inferred. RemoveEventHandler and HasSynced are called if standIn has them. It is
// for tests, in which a type of their own stands for an informer. Such an informer has no objects of its own, and an index of
// its kind is an error; [Informer.AddHandler] panics with the error of an AddEventHandler that fails.
func InformerOf[H EventHandler, R any](standIn interface {
	AddEventHandler(handler H) (R, error)
}) *Informer {
	return &Informer{kind: &kind{}, standIn: foreignInformer[H, R]{standIn}}
}

// StandIn returns what [InformerOf] was given for i, and nil for all other informers.
func (i *Informer) StandIn() any {
	if i.standIn == nil {
		return nil
	}
	return i.standIn.itself()
}

// informerStandIn is what stands for an informer. It is no generic type, as one that a type has a field of is compiled again wherever
// that is known.
type informerStandIn interface {
	add(h EventHandler) (*informer.Registration, error)
	wait(ctx context.Context) error
	itself() any
}

type foreignInformer[H EventHandler, R any] struct {
	to interface {
		AddEventHandler(handler H) (R, error)
	}
}

func (f foreignInformer[H, R]) itself() any { return f.to }

func (f foreignInformer[H, R]) add(h EventHandler) (*informer.Registration, error) {
	handler, ok := h.(H)
	if !ok {
		return nil, fmt.Errorf("%T takes handlers of the type %s only", f.to, reflect.TypeFor[H]())
	}
	registration, err := f.to.AddEventHandler(handler)
	if err != nil {
		return nil, err
	}
	return informer.Foreign(func() {
		if s, ok := f.to.(interface{ RemoveEventHandler(R) error }); ok {
			_ = s.RemoveEventHandler(registration) // nobody waits for it
		}
	}), nil
}

func (f foreignInformer[H, R]) wait(ctx context.Context) error {
	s, ok := f.to.(interface{ HasSynced() bool })
	if !ok || s.HasSynced() {
		return nil
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return synced(ctx, false)
		case <-again.C:
			if s.HasSynced() {
				return nil
			}
		}
	}
}

// synced returns the error of a wait for a stand-in.
func synced(ctx context.Context, done bool) error {
	switch {
	case done:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("has not synced: %w", context.Cause(ctx))
	}
	return errors.New("has not synced")
}

// methods is a handler of events as three methods.
type methods struct {
	h informer.Handler[object.Object]
}

// OnAdd implements EventHandler, as the others do. What is no object is not told: informers have none.
func (m methods) OnAdd(o any, isInInitialList bool) {
	if added, ok := o.(object.Object); ok {
		m.h(informer.Event[object.Object]{Type: informer.Added, Object: added, Initial: isInInitialList})
	}
}

func (m methods) OnUpdate(before, after any) {
	old, _ := before.(object.Object)
	if updated, ok := after.(object.Object); ok {
		m.h(informer.Event[object.Object]{Type: informer.Updated, Old: old, Object: updated})
	}
}

func (m methods) OnDelete(o any) {
	if deleted, ok := o.(object.Object); ok {
		m.h(informer.Event[object.Object]{Type: informer.Deleted, Object: deleted})
	}
}
