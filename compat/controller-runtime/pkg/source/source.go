// Package source provides the sources of a controller's requests: the events of a kind, a channel, or a function.
package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Source is a source of requests for objects.
type Source = TypedSource[reconcile.Request]

// TypedSource is a source of requests of any type.
type TypedSource[request comparable] interface {
	// Start adds requests to the queue until the context ends. It does not block.
	Start(context.Context, workqueue.TypedRateLimitingInterface[request]) error
}

// SyncingSource is a source that a controller waits for.
type SyncingSource = TypedSyncingSource[reconcile.Request]

// TypedSyncingSource is a source of requests of any type. A controller waits until it has synced.
type TypedSyncingSource[request comparable] interface {
	TypedSource[request]
	// WaitForSync waits until the source has added the initial requests.
	WaitForSync(ctx context.Context) error
}

// Kind returns a source of the events of the kind of obj that pass all predicates.
func Kind[object client.Object](
	cache cache.Cache, obj object, handler handler.TypedEventHandler[object, reconcile.Request],
	predicates ...predicate.TypedPredicate[object],
) SyncingSource {
	return TypedKind(cache, obj, handler, predicates...)
}

// TypedKind is like [Kind], for requests of any type.
func TypedKind[object client.Object, request comparable](
	cache cache.Cache, obj object, handler handler.TypedEventHandler[object, request],
	predicates ...predicate.TypedPredicate[object],
) TypedSyncingSource[request] {
	return &kind[object, request]{cache: cache, object: obj, to: events[object, request]{handler, predicates}}
}

// kind is a source of the events of a kind.
type kind[object client.Object, request comparable] struct {
	cache  cache.Cache
	object object
	to     events[object, request]

	result chan error // result of Start
	cancel context.CancelFunc
}

// pollInterval is the interval between attempts to get an informer for a kind that is not served yet.
const pollInterval = 10 * time.Second

var logKind = logf.RuntimeLog.WithName("source").WithName("Kind")

func (k *kind[object, request]) check() error {
	switch {
	case isNil(k.object):
		return errors.New("must create Kind with a non-nil object")
	case isNil(k.cache):
		return errors.New("must create Kind with a non-nil cache")
	case isNil(k.to.handler):
		return errors.New("must create Kind with non-nil handler")
	}
	return nil
}

// Start implements [TypedSource], for queues and caches of other packages.
func (k *kind[object, request]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	if err := k.check(); err != nil {
		return err
	}
	ctx, k.cancel = context.WithCancel(ctx)
	k.result = make(chan error, 1)
	go func() {
		defer close(k.result)
		if err := k.feed(ctx, queue); err != nil {
			k.result <- err
		}
	}()
	return nil
}

// feed adds a handler to the informer and waits until it has synced.
func (k *kind[object, request]) feed(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	var informer cache.Informer
	if err := poll(ctx, func() (err error) {
		informer, err = k.cache.GetInformer(ctx, k.object)
		return err
	}); err != nil {
		return fmt.Errorf("failed to get informer from cache: %w", err)
	}
	options := toolscache.HandlerOptions{Logger: &logKind}
	registration, err := informer.AddEventHandlerWithOptions(k.to.into(ctx, queue), options)
	if err != nil {
		return err
	}
	if !k.cache.WaitForCacheSync(ctx) {
		return errors.New("cache did not sync")
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return errors.New("handler did not sync")
	}
	return nil
}

// poll calls f until it succeeds, and logs errors. When ctx ends, it returns the last error of f.
func poll(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		noMatch := &meta.NoKindMatchError{}
		switch {
		case errors.As(err, &noMatch):
			logKind.Error(err, "if kind is a CRD, it should be installed before calling Start", "kind", noMatch.GroupKind)
		case runtime.IsNotRegisteredError(err):
			logKind.Error(err, "kind must be registered to the Scheme")
		default:
			logKind.Error(err, "failed to get informer from cache")
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollInterval):
		}
	}
}

// WaitForSync implements [TypedSyncingSource].
func (k *kind[object, request]) WaitForSync(ctx context.Context) error {
	select {
	case err := <-k.result:
		return err
	case <-ctx.Done():
		k.cancel()
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil
		}
		return fmt.Errorf("timed out waiting for cache to be synced for %s", k)
	}
}

// String returns a description of the kind.
func (k *kind[object, request]) String() string {
	if isNil(k.object) {
		return "kind source: unknown type"
	}
	switch any(k.object).(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		apiVersion, name := k.object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		return fmt.Sprintf("kind source: %T[%s %s]", k.object, apiVersion, name)
	}
	return fmt.Sprintf("kind source: %T", k.object)
}

// ChannelOpt changes the options of [Channel].
type ChannelOpt[object any, request comparable] func(*channel[object, request])

// WithPredicates adds predicates for the events of a channel.
func WithPredicates[object any, request comparable](
	p ...predicate.TypedPredicate[object],
) ChannelOpt[object, request] {
	return func(c *channel[object, request]) { c.to.predicates = append(c.to.predicates, p...) }
}

// WithBufferSize sets the maximum number of buffered events. The default is 1024.
func WithBufferSize[object any, request comparable](bufferSize int) ChannelOpt[object, request] {
	return func(c *channel[object, request]) { c.size = &bufferSize }
}

// Channel returns a source of the events of a channel. Each queue receives all events.
func Channel[object any](
	source <-chan event.TypedGenericEvent[object], handler handler.TypedEventHandler[object, reconcile.Request],
	opts ...ChannelOpt[object, reconcile.Request],
) Source {
	return TypedChannel(source, handler, opts...)
}

// TypedChannel is like [Channel], for requests of any type.
func TypedChannel[object any, request comparable](
	source <-chan event.TypedGenericEvent[object], handler handler.TypedEventHandler[object, request],
	opts ...ChannelOpt[object, request],
) TypedSource[request] {
	c := &channel[object, request]{source: source, to: events[object, request]{handler: handler}}
	for _, opt := range opts {
		opt(c)
	}
	return c
}

// channel is a source of the events of a channel.
type channel[object any, request comparable] struct {
	source <-chan event.TypedGenericEvent[object]
	to     events[object, request]
	size   *int

	once    sync.Once
	mu      sync.Mutex
	buffers []chan event.TypedGenericEvent[object] // one for each queue
}

const defaultBufferSize = 1024

// Start implements [TypedSource].
func (c *channel[object, request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	switch {
	case c.source == nil:
		return errors.New("must specify Channel.Source")
	case isNil(c.to.handler):
		return errors.New("must specify Channel.Handler")
	}
	size := defaultBufferSize
	if c.size != nil {
		size = *c.size
	}
	buffer := make(chan event.TypedGenericEvent[object], size)
	c.mu.Lock()
	c.buffers = append(c.buffers, buffer)
	c.mu.Unlock()
	c.once.Do(func() { go c.distribute(ctx) })
	go func() {
		for e := range buffer {
			c.to.generic(ctx, e, queue)
		}
	}()
	return nil
}

// distribute passes events to all buffers until ctx ends or the channel is closed.
func (c *channel[object, request]) distribute(ctx context.Context) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, buffer := range c.buffers {
			close(buffer)
		}
		c.buffers = nil
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-c.source:
			if !open {
				return
			}
			c.mu.Lock()
			for _, buffer := range c.buffers {
				select {
				case buffer <- e:
				case <-ctx.Done():
				}
			}
			c.mu.Unlock()
		}
	}
}

// String returns a description of the channel.
func (c *channel[object, request]) String() string { return fmt.Sprintf("channel source: %p", c) }

// Informer is a source of the events of an informer.
type Informer = TypedInformer[client.Object, reconcile.Request]

// TypedInformer is like [Informer], for objects and requests of any type.
type TypedInformer[object any, request comparable] struct {
	// Informer delivers the events.
	Informer cache.Informer
	// Handler handles the events.
	Handler handler.TypedEventHandler[object, request]
	// Predicates filter the events.
	Predicates []predicate.TypedPredicate[object]
}

var _ Source = &Informer{}

var logInformer = logf.RuntimeLog.WithName("source").WithName("Informer")

// Start implements [TypedSource].
func (is *TypedInformer[object, request]) Start(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) error {
	if is.Informer == nil {
		return errors.New("must specify Informer.Informer")
	}
	if is.Handler == nil {
		return errors.New("must specify Informer.Handler")
	}
	to := events[object, request]{is.Handler, is.Predicates}
	_, err := is.Informer.AddEventHandlerWithOptions(to.into(ctx, queue), toolscache.HandlerOptions{Logger: &logInformer})
	return err
}

// String returns a description of the informer.
func (is *TypedInformer[object, request]) String() string {
	return fmt.Sprintf("informer source: %p", is.Informer)
}

// Func implements [Source] with a function.
type Func = TypedFunc[reconcile.Request]

// TypedFunc is like [Func], for requests of any type.
type TypedFunc[request comparable] func(context.Context, workqueue.TypedRateLimitingInterface[request]) error

var _ Source = Func(nil)

// Start implements [TypedSource].
func (f TypedFunc[request]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	return f(ctx, queue)
}

// String returns a description of the function.
func (f TypedFunc[request]) String() string { return fmt.Sprintf("func source: %p", f) }

func isNil(o any) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}
