package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"

	kinformer "github.com/kctrl-dev/kctrl/runtime/informer"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/internal/bare"
	"sigs.k8s.io/controller-runtime/pkg/internal/synced"
)

// informer is an [Informer] of a kind.
type informer struct {
	toolscache.ResourceEventHandlerRegistration
	kind *kind
}

var _ Informer = (*informer)(nil)

func newInformer(k *kind) *informer { return &informer{synced.Registration(syncedKind{k}), k} }

// AddEventHandler implements [Informer].
func (i *informer) AddEventHandler(
	handler toolscache.ResourceEventHandler,
) (toolscache.ResourceEventHandlerRegistration, error) {
	if i.IsStopped() {
		return nil, fmt.Errorf("handler %v was not added to shared informer because it has stopped already", handler)
	}
	r := i.kind.informer.AddHandler(func(e kinformer.Event[client.Object]) { deliver(handler, e) })
	return &registration{synced.Registration(syncedHandler{syncedKind{i.kind}, r}), r}, nil
}

// deliver calls the method of handler that matches an event.
func deliver(handler toolscache.ResourceEventHandler, e kinformer.Event[client.Object]) {
	obj := bare.Object(e.Object)
	switch e.Type {
	case kinformer.Added:
		handler.OnAdd(obj, e.Initial)
	case kinformer.Updated:
		handler.OnUpdate(bare.Object(e.Old), obj)
	case kinformer.Deleted:
		if e.FinalStateUnknown {
			name := toolscache.MetaObjectToName(obj)
			handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: name.String(), Obj: obj})
			return
		}
		handler.OnDelete(obj)
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

// IsStopped implements [Informer].
func (i *informer) IsStopped() bool {
	select {
	case <-i.kind.stopped:
		return true
	default:
		return false
	}
}

// syncedKind reports whether the informer of a kind has synced.
type syncedKind struct{ *kind }

// HasSynced reports whether the informer has synced.
func (k syncedKind) HasSynced() bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return k.informer.Wait(ctx) == nil
}

// Name returns the name for logs.
func (k syncedKind) Name() string { return fmt.Sprintf("%T", k.prototype) }

// Done returns a channel that is closed when the informer has synced.
func (k syncedKind) Done() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		if k.informer.Wait(context.Background()) == nil {
			close(done)
		}
	}()
	return done
}

// registration is the registration of a handler.
type registration struct {
	toolscache.ResourceEventHandlerRegistration
	handler *kinformer.Registration
}

// syncedHandler reports whether a handler has received the initial objects.
type syncedHandler struct {
	syncedKind
	handler *kinformer.Registration
}

// HasSynced reports whether the handler has received the initial objects.
func (h syncedHandler) HasSynced() bool {
	select {
	case <-h.handler.Synced():
		return true
	default:
		return false
	}
}

// Done returns a channel that is closed when the handler has received the initial objects.
func (h syncedHandler) Done() <-chan struct{} { return h.handler.Synced() }
