// Package controllertest provides fakes for tests of handlers and sources. The marker below excludes its types, which
// are not APIs, from kctrl gen paths=./... in projects that contain this package.
//
// +kubebuilder:skip
package controllertest

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/internal/synced"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// ErrorType is an object without metadata.
type ErrorType struct{}

var _ runtime.Object = &ErrorType{}

// GetObjectKind returns nil.
func (ErrorType) GetObjectKind() schema.ObjectKind { return nil }

// DeepCopyObject returns nil.
func (ErrorType) DeepCopyObject() runtime.Object { return nil }

// Queue is a queue of requests for objects.
type Queue = TypedQueue[reconcile.Request]

// TypedQueue is a queue that adds delayed and rate-limited items immediately, and records the rate-limited ones.
type TypedQueue[request comparable] struct {
	workqueue.TypedInterface[request]
	// AddedRateLimitedLock guards AddedRatelimited.
	AddedRateLimitedLock sync.Mutex
	// AddedRatelimited are the items that AddRateLimited added.
	AddedRatelimited []any
}

var _ workqueue.TypedRateLimitingInterface[reconcile.Request] = &Queue{}

// AddAfter adds an item immediately.
func (q *TypedQueue[request]) AddAfter(item request, _ time.Duration) { q.Add(item) }

// AddRateLimited adds an item immediately and records it.
func (q *TypedQueue[request]) AddRateLimited(item request) {
	q.AddedRateLimitedLock.Lock()
	q.AddedRatelimited = append(q.AddedRatelimited, item)
	q.AddedRateLimitedLock.Unlock()
	q.Add(item)
}

// Forget does nothing.
func (q *TypedQueue[request]) Forget(request) {}

// NumRequeues returns 0.
func (q *TypedQueue[request]) NumRequeues(request) int { return 0 }

// UnconventionalListType is an object whose list contains pointers.
type UnconventionalListType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              string `json:"spec,omitempty"`
}

// UnconventionalListTypeList is a list of pointers.
type UnconventionalListTypeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []*UnconventionalListType `json:"items"`
}

// DeepCopyObject returns a copy.
func (u *UnconventionalListType) DeepCopyObject() runtime.Object { return u.DeepCopy() }

// DeepCopy returns a copy.
func (u *UnconventionalListType) DeepCopy() *UnconventionalListType {
	c := *u
	u.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// DeepCopyObject returns a copy.
func (u *UnconventionalListTypeList) DeepCopyObject() runtime.Object { return u.DeepCopy() }

// DeepCopy returns a copy.
func (u *UnconventionalListTypeList) DeepCopy() *UnconventionalListTypeList {
	c := &UnconventionalListTypeList{TypeMeta: u.TypeMeta}
	u.ListMeta.DeepCopyInto(&c.ListMeta)
	for _, item := range u.Items {
		c.Items = append(c.Items, item.DeepCopy())
	}
	return c
}

// InformerOptions are the options of [NewFakeInformer].
type InformerOptions struct {
	// Synced reports whether the informer has synced.
	Synced bool
}

// InformerOption changes the options of [NewFakeInformer].
type InformerOption interface{ Apply(*InformerOptions) }

type syncedOption struct{}

// Synced makes the informer synced from the start.
var Synced = syncedOption{}

// Apply implements [InformerOption].
func (syncedOption) Apply(opts *InformerOptions) { opts.Synced = true }

// FakeInformer delivers the events of a test to handlers.
type FakeInformer struct {
	// RunCount is the number of runs.
	RunCount int

	registration
	done     chan struct{} // closed by Synced
	handlers []cache.ResourceEventHandler
}

var _ cache.SharedIndexInformer = &FakeInformer{}

// registration also has HasSyncedChecker if client-go does.
type registration = cache.ResourceEventHandlerRegistration

// NewFakeInformer returns an informer.
func NewFakeInformer(opts ...InformerOption) *FakeInformer {
	var o InformerOptions
	for _, opt := range opts {
		opt.Apply(&o)
	}
	f := &FakeInformer{done: make(chan struct{})}
	f.registration = synced.Registration(f)
	if o.Synced {
		close(f.done)
	}
	return f
}

// Synced marks the informer as synced.
func (f *FakeInformer) Synced() { close(f.done) }

// HasSynced reports whether the informer has synced.
func (f *FakeInformer) HasSynced() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// Name returns "FakeInformer".
func (f *FakeInformer) Name() string { return "FakeInformer" }

// Done is closed when the informer has synced.
func (f *FakeInformer) Done() <-chan struct{} { return f.done }

// Informer returns the informer.
func (f *FakeInformer) Informer() cache.SharedIndexInformer { return f }

// AddEventHandler adds a handler.
func (f *FakeInformer) AddEventHandler(
	handler cache.ResourceEventHandler,
) (cache.ResourceEventHandlerRegistration, error) {
	f.handlers = append(f.handlers, handler)
	return f, nil
}

// AddEventHandlerWithResyncPeriod adds a handler.
func (f *FakeInformer) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, _ time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(handler)
}

// AddEventHandlerWithOptions adds a handler.
func (f *FakeInformer) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, _ cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandler(handler)
}

// RemoveEventHandler does nothing.
func (f *FakeInformer) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }

// Add passes a new object to the handlers.
func (f *FakeInformer) Add(obj metav1.Object) {
	for _, h := range f.handlers {
		h.OnAdd(obj, false)
	}
}

// Update passes a change to the handlers.
func (f *FakeInformer) Update(oldObj, newObj metav1.Object) {
	for _, h := range f.handlers {
		h.OnUpdate(oldObj, newObj)
	}
}

// Delete passes a deletion to the handlers.
func (f *FakeInformer) Delete(obj metav1.Object) {
	for _, h := range f.handlers {
		h.OnDelete(obj)
	}
}

// Run counts the call.
func (f *FakeInformer) Run(<-chan struct{}) { f.RunCount++ }

// RunWithContext counts the call.
func (f *FakeInformer) RunWithContext(context.Context) { f.RunCount++ }

// IsStopped returns false.
func (f *FakeInformer) IsStopped() bool { return false }

// AddIndexers does nothing.
func (f *FakeInformer) AddIndexers(cache.Indexers) error { return nil }

// GetIndexer returns nil.
func (f *FakeInformer) GetIndexer() cache.Indexer { return nil }

// GetStore returns nil.
func (f *FakeInformer) GetStore() cache.Store { return nil }

// GetController returns nil.
func (f *FakeInformer) GetController() cache.Controller { return nil }

// LastSyncResourceVersion returns "".
func (f *FakeInformer) LastSyncResourceVersion() string { return "" }

// SetWatchErrorHandler does nothing.
func (f *FakeInformer) SetWatchErrorHandler(cache.WatchErrorHandler) error { return nil }

// SetWatchErrorHandlerWithContext does nothing.
func (f *FakeInformer) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return nil
}

// SetTransform does nothing.
func (f *FakeInformer) SetTransform(cache.TransformFunc) error { return nil }
