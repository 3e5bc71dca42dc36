// Package cacheapi defines the interfaces of caches, for packages that package cache imports and that therefore cannot
// import it.
package cacheapi

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// InformerGetOptions are the options of [Informers].GetInformer.
type InformerGetOptions struct {
	// BlockUntilSynced makes the call wait until the informer has synced, if the cache runs. Nil means true.
	BlockUntilSynced *bool
}

// InformerGetOption changes the options of [Informers].GetInformer.
type InformerGetOption func(*InformerGetOptions)

// BlockUntilSynced sets whether the call waits until the informer has synced.
func BlockUntilSynced(shouldBlock bool) InformerGetOption {
	return func(o *InformerGetOptions) { o.BlockUntilSynced = &shouldBlock }
}

// Object is an object with metadata.
type Object = object.Object

// IndexerFunc returns the values of a field index for an object.
type IndexerFunc func(Object) []string

// FieldIndexer adds field indexes to a cache.
type FieldIndexer interface {
	// IndexField indexes the objects of the kind of obj, so that a List can select them by field.
	IndexField(ctx context.Context, obj Object, field string, extractValue IndexerFunc) error
}

// Informers manages the informers of a cache.
type Informers interface {
	// GetInformer returns the informer for the kind of obj, and creates it if necessary.
	GetInformer(ctx context.Context, obj Object, opts ...InformerGetOption) (Informer, error)
	// GetInformerForKind is like GetInformer, for a kind of the scheme.
	GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...InformerGetOption) (Informer, error)
	// RemoveInformer stops and removes the informer for the kind of obj.
	RemoveInformer(ctx context.Context, obj Object) error
	// Start runs the informers until ctx ends.
	Start(ctx context.Context) error
	// WaitForCacheSync waits until all informers have synced. It reports false if ctx ends first.
	WaitForCacheSync(ctx context.Context) bool
	FieldIndexer
}

// Informer passes the events of one kind to handlers.
type Informer interface {
	// ResourceEventHandlerRegistration has the method HasSynced, which reports whether the informer has synced. Since
	// client-go v0.36, it also has HasSyncedChecker, with which callers wait for the sync.
	toolscache.ResourceEventHandlerRegistration
	// AddEventHandler adds a handler.
	AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error)
	// AddEventHandlerWithResyncPeriod is like AddEventHandler. The period must be 0 or the cache's period.
	AddEventHandlerWithResyncPeriod(
		handler toolscache.ResourceEventHandler, resyncPeriod time.Duration,
	) (toolscache.ResourceEventHandlerRegistration, error)
	// AddEventHandlerWithOptions is like AddEventHandler, with options.
	AddEventHandlerWithOptions(
		handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
	) (toolscache.ResourceEventHandlerRegistration, error)
	// RemoveEventHandler removes a handler.
	RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error
	// AddIndexers returns an error in caches of this module. Use IndexField instead.
	AddIndexers(indexers toolscache.Indexers) error
	// IsStopped reports whether the informer has stopped.
	IsStopped() bool
}
