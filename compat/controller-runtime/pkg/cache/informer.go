package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"

	kinformer "github.com/kctrl-dev/kctrl/runtime/informer"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// informer is an [Informer] of a kind.
type informer struct{ kind *kind }

var _ Informer = (*informer)(nil)

// AddEventHandler implements [Informer].
func (i *informer) AddEventHandler(
	handler toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	if i.IsStopped() {
		return nil, fmt.Errorf("handler %v was not added to shared informer because it has stopped already", handler)
	}
	r := i.kind.informer.AddHandler(func(e kinformer.Event[client.Object]) { deliver(handler, e) })
	return &registration{i.Name(), r}, nil
}

// deliver calls the method of handler for an event.
func deliver(handler toolscache.ResourceEventHandler, e kinformer.Event[client.Object]) {
	switch e.Type {
	case kinformer.Added:
		handler.OnAdd(e.Object, e.Initial)
	case kinformer.Updated:
		handler.OnUpdate(e.Old, e.Object)
	case kinformer.Deleted:
		if e.FinalStateUnknown {
			name := toolscache.MetaObjectToName(e.Object)
			handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: name.String(), Obj: e.Object})
			return
		}
		handler.OnDelete(e.Object)
	}
}

// AddEventHandlerWithResyncPeriod implements [Informer].
func (i *informer) AddEventHandlerWithResyncPeriod(
	handler toolscache.ResourceEventHandler, resyncPeriod time.Duration,
) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions implements [Informer].
func (i *informer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	if period := options.ResyncPeriod; period != nil && *period != 0 && !isSame(period, i.kind.opts.defaults.SyncPeriod) {
		return nil, errors.New("a resync period of a handler must be the SyncPeriod of the cache")
	}
	return i.AddEventHandler(handler)
}

// RemoveEventHandler implements [Informer].
func (i *informer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok {
		return fmt.Errorf("%T is not a registration of this informer", handle)
	}
	r.handler.Remove()
	return nil
}

// AddIndexers implements [Informer].
func (i *informer) AddIndexers(indexers toolscache.Indexers) error {
	if len(indexers) == 0 {
		return nil
	}
	return errors.New("AddIndexers is not supported: use IndexField of the cache")
}

// HasSynced implements [Informer].
func (i *informer) HasSynced() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return i.kind.informer.Wait(ctx) == nil
}

// HasSyncedChecker implements [Informer].
func (i *informer) HasSyncedChecker() toolscache.DoneChecker {
	done := make(chan struct{})
	go func() {
		if i.kind.informer.Wait(context.Background()) == nil {
			close(done)
		}
	}()
	return checker{i.Name(), done}
}

// Name returns the name for logs.
func (i *informer) Name() string { return fmt.Sprintf("%T", i.kind.prototype) }

// IsStopped implements [Informer].
func (i *informer) IsStopped() bool {
	select {
	case <-i.kind.stopped:
		return true
	default:
		return false
	}
}

// registration is a handler of an informer.
type registration struct {
	name    string
	handler *kinformer.Registration
}

// HasSynced implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSynced() bool {
	select {
	case <-r.handler.Synced():
		return true
	default:
		return false
	}
}

// HasSyncedChecker implements toolscache.ResourceEventHandlerRegistration.
func (r *registration) HasSyncedChecker() toolscache.DoneChecker {
	return checker{r.name, r.handler.Synced()}
}

// checker is a toolscache.DoneChecker.
type checker struct {
	name string
	done <-chan struct{}
}

// Name implements toolscache.DoneChecker.
func (c checker) Name() string { return c.name }

// Done implements toolscache.DoneChecker.
func (c checker) Done() <-chan struct{} { return c.done }
