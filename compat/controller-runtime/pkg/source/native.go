package source

import (
	"context"
	"fmt"
	"sync/atomic"

	kcache "github.com/kctrl-dev/kctrl/runtime/cache"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	khandler "github.com/kctrl-dev/kctrl/runtime/handler"
	kinformer "github.com/kctrl-dev/kctrl/runtime/informer"
	ksource "github.com/kctrl-dev/kctrl/runtime/source"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/internal/bare"
	"sigs.k8s.io/controller-runtime/pkg/internal/bridge"
)

// This file adapts sources of this package to kctrl's controllers.

// Native returns src as one of kctrl's sources. Only packages of this module use it.
func Native[request comparable](src TypedSource[request], o bridge.Options[request]) (ksource.Source[request], error) {
	if own, ok := src.(interface {
		native(o bridge.Options[request]) (ksource.Source[request], error)
	}); ok {
		return own.native(o)
	}
	return foreign(src, o), nil
}

// foreign returns a source that starts src. It is synced when Start has returned, and WaitForSync, if src has that
// method.
func foreign[request comparable](src TypedSource[request], o bridge.Options[request]) ksource.Source[request] {
	run := func(ctx context.Context, queue khandler.Queue[request], synced func()) error {
		if err := src.Start(ctx, bridge.Queue(queue, o)); err != nil {
			return err
		}
		if syncing, ok := src.(TypedSyncingSource[request]); ok {
			if err := syncing.WaitForSync(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		synced()
		<-ctx.Done()
		return nil
	}
	return ksource.Func(nameOf(src), run)
}

func nameOf(src any) string {
	if named, ok := src.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", src)
}

// kctrlCache is a cache that consists of caches of kctrl.
type kctrlCache interface {
	Kctrl(obj client.Object) (*kcache.Cache, client.Object, error)
	Journal() *kclient.Journal
}

// native returns the events of a cache of this module directly.
func (k *kind[object, request]) native(o bridge.Options[request]) (ksource.Source[request], error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	native, ok := k.cache.(kctrlCache)
	if !ok {
		return foreign[request](k, o), nil
	}
	return &nativeKind[object, request]{kind: k, cache: native, options: o}, nil
}

// nativeKind is one of kctrl's sources, for a kind. It waits until the cache has the kind.
type nativeKind[object client.Object, request comparable] struct {
	kind    *kind[object, request]
	cache   kctrlCache
	options bridge.Options[request]
	err     atomic.Pointer[error]
	running atomic.Pointer[ksource.Source[request]]
}

// String returns a description of the kind.
func (n *nativeKind[object, request]) String() string { return n.kind.String() }

// Journal returns the journal of writes that may cause the events.
func (n *nativeKind[object, request]) Journal() *kclient.Journal { return n.cache.Journal() }

// Err implements ksource.Source.
func (n *nativeKind[object, request]) Err() error {
	if source := n.running.Load(); source != nil {
		return (*source).Err()
	}
	if err := n.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Run implements ksource.Source.
func (n *nativeKind[object, request]) Run(ctx context.Context, queue khandler.Queue[request], synced func()) error {
	var (
		informers *kcache.Cache
		prototype client.Object
	)
	if err := poll(ctx, func() (err error) {
		if informers, prototype, err = n.cache.Kctrl(n.kind.object); err != nil {
			n.err.Store(&err)
		}
		return err
	}); err != nil {
		return nil // ctx has ended
	}
	source := n.source(informers, prototype)
	n.running.Store(&source)
	return source.Run(ctx, queue, synced)
}

func (n *nativeKind[object, request]) source(informers *kcache.Cache, prototype client.Object) ksource.Source[request] {
	if _, byKey := any(n.kind.to.handler).(*handler.EnqueueRequestForObject); byKey && len(n.kind.to.predicates) == 0 {
		forObject := any(khandler.ForObject[client.Object]()).(khandler.Handler[client.Object, request])
		return ksource.Keys(informers, prototype, forObject)
	}
	return ksource.Kind(informers, prototype, khandler.Handler[client.Object, request](n.handle))
}

// handle passes an event of kctrl to the handler.
func (n *nativeKind[object, request]) handle(
	ctx context.Context, e kinformer.Event[client.Object], queue khandler.Queue[request],
) {
	to := n.kind.to
	q := bridge.Queue(queue, n.options)
	o, ok := e.Object.(object)
	if !ok {
		return
	}
	o = bare.Object(o)
	switch e.Type {
	case kinformer.Added:
		to.create(ctx, event.TypedCreateEvent[object]{Object: o, IsInInitialList: e.Initial}, q)
	case kinformer.Updated:
		if before, ok := e.Old.(object); ok {
			to.update(ctx, event.TypedUpdateEvent[object]{ObjectOld: bare.Object(before), ObjectNew: o}, q)
		}
	case kinformer.Deleted:
		to.remove(ctx, event.TypedDeleteEvent[object]{Object: o, DeleteStateUnknown: e.FinalStateUnknown}, q)
	}
}
