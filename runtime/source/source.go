// Package source is where the requests of a controller come from: the events of a kind, a channel of them, or whatever
// a function adds.
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

// Source feeds the queue of a controller.
type Source[R comparable] interface {
	// Run feeds queue until ctx ends, and returns after the last request was added. It calls synced once, when what
	// existed at the start has been added. It is called once.
	Run(ctx context.Context, queue handler.Queue[R], synced func()) error
	// Err returns why the source has not synced or is not up to date, or nil.
	Err() error
	// String names the source for logs, such as "kind Guestbook".
	String() string
}

// Kind is a source of the events of the kind of prototype, which it declares at informers. The events that count for
// all predicates go to h. Where the cache cannot have the kind, the source has a [Failure], and a controller that is to
// watch it fails with that.
func Kind[T object.Object, R comparable](informers *cache.Cache, prototype T, h handler.Handler[T, R], predicates ...predicate.Predicate) Source[R] {
	untyped, ok := any(h).(handler.Handler[object.Object, R])
	if !ok {
		untyped = func(ctx context.Context, e informer.Event[object.Object], queue handler.Queue[R]) {
			if typed, ok := informer.As[T](e); ok { // which the cache promises
				h(ctx, typed, queue)
			}
		}
	}
	return kindOf(informers, prototype, &kind[R]{handler: untyped, accept: predicate.And(predicates...)})
}

// Keys is [Kind] for a handler that reads only the keys of objects that have not changed, as [handler.ForObject] does:
// the cache does not unpack the objects that exist at the start, nor those of a resync. Events of changes are whole.
func Keys[R comparable](
	informers *cache.Cache, prototype object.Object, h handler.Handler[object.Object, R],
) Source[R] {
	return kindOf(informers, prototype, &kind[R]{handler: h, accept: predicate.And(), byKey: true})
}

// kindOf returns k for the kind of prototype.
func kindOf[R comparable](informers *cache.Cache, prototype object.Object, k *kind[R]) Source[R] {
	i, err := informers.Informer(prototype)
	if err != nil {
		return failed[R]{err, fmt.Sprintf("kind of %T", prototype)}
	}
	k.informer, k.journal, k.name = i, informers.Journal(), i.GVK().GroupKind().String()
	return k
}

// Failure returns why s cannot run at all, such as one of a kind that the scheme does not know, or nil.
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

// Journal implements the interface that [writes.JournalOf] looks for.
func (k *kind[R]) Journal() *client.Journal { return k.journal }

// Err returns why the informer is not up to date, or else why the handler waits.
func (k *kind[R]) Err() error {
	if err := k.informer.Err(); err != nil {
		return err
	}
	return k.blocked.Err()
}

// Wait is what [Optional] waits by.
func (k *kind[R]) Wait(ctx context.Context) error { return k.informer.Wait(ctx) }

func (k *kind[R]) String() string { return "kind " + k.name }

// causal is a queue that wants to know why requests are added. That of a controller is one.
type causal[R comparable] interface {
	// Because returns the queue for what a handler adds for one event of an object of that kind. It is used during that
	// call of the handler only.
	Because(kind string, e informer.Event[object.Object]) handler.Queue[R]
}

// reasons returns the Because of a queue: that of one which does not want to know is the queue.
func reasons[R comparable](queue handler.Queue[R]) func(kind string, e informer.Event[object.Object]) handler.Queue[R] {
	if told, ok := queue.(causal[R]); ok {
		return told.Because
	}
	return func(string, informer.Event[object.Object]) handler.Queue[R] { return queue }
}

// ErrClosed is returned by a channel source whose channel was closed.
var ErrClosed = errors.New("channel was closed")

// Channel is a source of the events that others send on a channel, such as changes outside the cluster. It is synced
// from the start. Senders block while the controller is not running. An event may be without an object, such as one
// that says no more than that it is time: predicates and h get it as it is.
func Channel[T object.Object, R comparable](events <-chan informer.Event[T], h handler.Handler[T, R], predicates ...predicate.Predicate) Source[R] {
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
			if isWhole(untyped) { // else it is no cause that could be named
				to = because(c.name, untyped)
			}
			c.handler(ctx, e, to)
		}
	}
}

// isWhole reports whether an event has the objects that one of its type has.
func isWhole(e informer.Event[object.Object]) bool {
	return !isNil(e.Object) && (e.Type != informer.Updated || !isNil(e.Old))
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

// Func is a source of the requests that run adds to the queue, such as those of a timer or of a message broker. run
// does what [Source].Run says: it calls synced when what existed at the start has been added, goes on until ctx ends,
// and returns after the last request was added. An error that it returns before ctx ends stops the controller. The name
// is that of the source in logs.
func Func[R comparable](name string, run func(ctx context.Context, queue handler.Queue[R], synced func()) error) Source[R] {
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

// Optional is a source of a kind that need not be there: as long as the API server does not know it, a controller does
// not wait for s. When the kind appears its events come, and nothing has to be restarted; when it vanishes, s waits for
// it to come back. s is a source of [Kind] or, like that, has a method Wait(ctx context.Context) error, which blocks
// until the source has synced and fails when the kind is not there, see meta.IsNoMatchError. Any other s stays what it
// is.
func Optional[R comparable](s Source[R]) Source[R] { return optional[R]{s} }

type optional[R comparable] struct{ Source[R] }

// Run runs the source. It has synced also when the kind is found not to be there: all that exists has been added then.
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

// Journal is that of the source.
func (o optional[R]) Journal() *client.Journal { return writes.JournalOf(o.Source) }
