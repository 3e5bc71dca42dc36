// Package source provides sources of a controller's requests: the events of a kind, a channel of events, or a function.
package source

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/internal/blocked"
	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
)

// Source adds requests to the queue of a controller.
type Source[R comparable] interface {
	// Run adds requests to queue until ctx ends, and returns after the last request was added. It calls synced once, after
	// it has added the requests for the initial state. A controller calls Run at most once.
	Run(ctx context.Context, queue handler.Queue[R], synced func()) error
	// Err returns nil, or the reason why the source has not synced or is out of date.
	Err() error
	// String returns the name of the source for logs, such as "kind Guestbook".
	String() string
}

// Kind returns a source that passes the events of prototype's kind to h if all predicates accept them. It declares the
// kind at the cache informers. If the cache rejects the kind, [Failure] returns the error, and a controller does not
// accept the source.
func Kind[T object.Object, R comparable](informers *cache.Cache, prototype T, h handler.Handler[T, R],
	predicates ...predicate.Predicate) Source[R] {
	untyped, ok := any(h).(handler.Handler[object.Object, R])
	if !ok {
		untyped = func(ctx context.Context, e informer.Event[object.Object], queue handler.Queue[R]) {
			if typed, ok := informer.As[T](e); ok { // the cache guarantees the type
				h(ctx, typed, queue)
			}
		}
	}
	return kindOf(informers, prototype, &kind[R]{handler: untyped, accept: predicate.And(predicates...)})
}

// Keys is like [Kind], for a handler that reads only the keys of objects that have not changed, such as
// [handler.ForObject]. It is cheaper, because the cache does not unpack objects for initial events and resyncs. Events
// of changes have complete objects.
func Keys[R comparable](
	informers *cache.Cache, prototype object.Object, h handler.Handler[object.Object, R],
) Source[R] {
	return kindOf(informers, prototype, &kind[R]{handler: h, accept: predicate.And(), byKey: true})
}

// kindOf completes k for the kind of prototype.
func kindOf[R comparable](informers *cache.Cache, prototype object.Object, k *kind[R]) Source[R] {
	i, err := informers.Informer(prototype)
	if err != nil {
		return failed[R]{err, fmt.Sprintf("kind of %T", prototype)}
	}
	k.informer, k.journal, k.name = i, informers.Journal(), i.GVK().GroupKind().String()
	return k
}

// Failure returns nil, or the reason why s cannot run, for example that the scheme does not have its kind.
func Failure[R comparable](s Source[R]) error {
	switch s := s.(type) {
	case failed[R]:
		return s.err
	case optional[R]:
		return Failure(s.Source)
	}
	return nil
}

// failed is a source that cannot run.
type failed[R comparable] struct {
	err  error
	name string
}

func (f failed[R]) Run(context.Context, handler.Queue[R], func()) error { return f.err }
func (f failed[R]) Err() error                                          { return f.err }
func (f failed[R]) String() string                                      { return f.name }

type kind[R comparable] struct {
	informer *cache.Informer
	journal  *client.Journal
	name     string
	handler  handler.Handler[object.Object, R]
	accept   predicate.Predicate
	byKey    bool            // handler reads only keys of objects that have not changed
	blocked  blocked.Reasons // of calls of handler
}

func (k *kind[R]) Run(ctx context.Context, queue handler.Queue[R], synced func()) error {
	because := reasons(queue)
	ctx = blocked.Into(ctx, &k.blocked)
	add := k.informer.AddHandler
	if k.byKey {
		add = k.informer.AddKeyHandler
	}
	registration := add(func(e informer.Event[object.Object]) {
		if k.accept(e) {
			k.handler(ctx, e, because(k.name, e))
		}
	})
	defer func() { <-registration.Done() }()
	defer registration.Remove()
	switch err := registration.Wait(ctx); {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	}
	synced()
	<-ctx.Done()
	return nil
}

// Journal is called by [writes.JournalOf].
func (k *kind[R]) Journal() *client.Journal { return k.journal }

// Err returns nil, or the reason why the informer is out of date or the handler waits.
func (k *kind[R]) Err() error {
	if err := k.informer.Err(); err != nil {
		return err
	}
	return k.blocked.Err()
}

// Wait is called by [Optional].
func (k *kind[R]) Wait(ctx context.Context) error { return k.informer.Wait(ctx) }
func (k *kind[R]) String() string                 { return "kind " + k.name }

// causal is a queue that records the cause of each request. A controller's queue implements it.
type causal[R comparable] interface {
	// Because returns the queue for the requests of one event of an object of that kind. It is used only during that
	// call of the handler.
	Because(kind string, e informer.Event[object.Object]) handler.Queue[R]
}

// reasons returns the method Because of a queue, or a function that returns the queue itself.
func reasons[R comparable](queue handler.Queue[R]) func(kind string, e informer.Event[object.Object]) handler.Queue[R] {
	if told, ok := queue.(causal[R]); ok {
		return told.Because
	}
	return func(string, informer.Event[object.Object]) handler.Queue[R] { return queue }
}

// ErrClosed is the error of a channel source whose channel was closed.
var ErrClosed = errors.New("channel was closed")

// Channel returns a source that passes the events from a channel to h, such as changes outside the cluster. It is
// synced from the start. Senders block while the controller is not running. An event may have no object, for example a
// timer event; predicates and h receive it unchanged.
func Channel[T object.Object, R comparable](events <-chan informer.Event[T], h handler.Handler[T, R],
	predicates ...predicate.Predicate) Source[R] {
	return &channel[T, R]{
		events: events, name: fmt.Sprintf("channel of %T", *new(T)), handler: h, accept: predicate.And(predicates...),
	}
}

type channel[T object.Object, R comparable] struct {
	events  <-chan informer.Event[T]
	name    string
	handler handler.Handler[T, R]
	accept  predicate.Predicate
	closed  atomic.Bool
}

func (c *channel[T, R]) Run(ctx context.Context, queue handler.Queue[R], synced func()) error {
	because := reasons(queue)
	synced()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-c.events:
			if !ok {
				c.closed.Store(true)
				return fmt.Errorf("%s: %w", c, ErrClosed)
			}
			untyped, _ := informer.As[object.Object](e)
			if !c.accept(untyped) {
				continue
			}
			to := queue
			whole := !isNil(untyped.Object) && (untyped.Type != informer.Updated || !isNil(untyped.Old))
			if whole { // otherwise the cause has no name
				to = because(c.name, untyped)
			}
			c.handler(ctx, e, to)
		}
	}
}

func isNil(o object.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

func (c *channel[T, R]) Err() error {
	if c.closed.Load() {
		return ErrClosed
	}
	return nil
}

func (c *channel[T, R]) String() string { return c.name }

// Func returns a source of the requests that run adds to the queue, such as the requests of a timer or a message
// broker. run has the contract of [Source].Run: it calls synced after it has added the requests for the initial state,
// continues until ctx ends, and returns after it has added the last request. If run returns an error before ctx ends,
// the controller stops. The name identifies the source in logs.
func Func[R comparable](name string, run func(ctx context.Context, queue handler.Queue[R],
	synced func()) error) Source[R] {
	return &function[R]{name: name, run: run}
}

type function[R comparable] struct {
	name string
	run  func(ctx context.Context, queue handler.Queue[R], synced func()) error
	err  atomic.Pointer[error]
}

func (f *function[R]) Run(ctx context.Context, queue handler.Queue[R], synced func()) error {
	err := f.run(ctx, queue, synced)
	if err != nil {
		f.err.Store(&err)
	}
	return err
}

func (f *function[R]) Err() error {
	if err := f.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (f *function[R]) String() string { return f.name }

// Optional returns a variant of s for a kind that the API server may not serve. While the kind is missing, a controller
// does not wait for the source. When the kind appears, its events arrive without a restart; when it disappears, the
// source waits until it appears again. Optional applies to sources of [Kind], and to sources with a method Wait(ctx
// context.Context) error that blocks until the source has synced, and returns an error for which meta.IsNoMatchError is
// true if the kind is missing. It has no effect on other sources.
func Optional[R comparable](s Source[R]) Source[R] { return optional[R]{s} }

type optional[R comparable] struct{ Source[R] }

// Run runs the source. If the kind is missing, Run calls synced, because there are no objects to add.
func (o optional[R]) Run(ctx context.Context, queue handler.Queue[R], synced func()) error {
	awaited, ok := o.Source.(interface {
		Wait(ctx context.Context) error
	})
	if !ok {
		return o.Source.Run(ctx, queue, synced)
	}
	var once sync.Once
	var waiting sync.WaitGroup
	defer waiting.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	waiting.Go(func() {
		if meta.IsNoMatchError(awaited.Wait(ctx)) {
			once.Do(synced)
		}
	})
	return o.Source.Run(ctx, queue, func() { once.Do(synced) })
}

// Journal returns the journal of the source.
func (o optional[R]) Journal() *client.Journal { return writes.JournalOf(o.Source) }
