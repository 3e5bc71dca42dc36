package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// Informer keeps a store up to date with a resource of the API server, and reports changes to any number of handlers.
// It is safe for concurrent use.
type Informer[T object.Object] struct {
	name      string
	namespace string
	label     string // the informer's label in metrics
	resync    time.Duration
	metrics   *metrics.Registry
	folded    *metrics.Counter
	contents  *contents[T]
	fifo      *reflector.DeltaFIFO[T]
	reflector *reflector.Reflector[T]
	failed    atomic.Pointer[chan struct{}] // closed and replaced at each failure of the reflector
	detector  *mutationDetector[T]          // may be nil

	// mu makes two steps atomic: changing the store, and passing the resulting events to the listeners. A new handler
	// therefore sees each object exactly once. Lock order: mu, then the mutexes of the store and of the listeners.
	mu        sync.Mutex
	stage     stage
	synced    bool          // the store has the first list, and the listeners have received its events
	onSynced  func()        // if set, called when synced is set; must not block. Set before Run
	ended     chan struct{} // closed when stage is ended
	stopRun   func()        // ends the context of Run. Set when stage is running
	done      chan struct{} // closed when the last goroutine of Run has ended
	listeners map[*listener[T]]struct{}
	handlers  sync.WaitGroup // counts the listeners' goroutines; grows only while stage is running
}

// stage is a stage in the lifecycle of an informer.
type stage int

const (
	created stage = iota
	running
	ended
)

// New returns an informer of source. It starts no goroutine; call [Informer.Run].
func New[T object.Object](source reflector.ListerWatcher[T], opts Options[T]) *Informer[T] {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	opts.Metrics = opts.Metrics.Sub()
	label := opts.Name
	if opts.Namespace != "" {
		label += "/" + opts.Namespace
	}
	i := &Informer[T]{
		name: opts.Name, namespace: opts.Namespace,
		label:   label,
		resync:  opts.Resync,
		metrics: opts.Metrics,
		folded: opts.Metrics.Counter("informer_folded_events_total",
			"Events for slow handlers that were merged with other events of the same object.", "informer"),
		contents: newContents(opts.Indexes, opts.Packed),

		ended: make(chan struct{}), done: make(chan struct{}), listeners: make(map[*listener[T]]struct{}),
	}
	i.contents.observer = opts.Observer
	if opts.Mutated != nil && opts.Packed == nil {
		i.detector = &mutationDetector[T]{informer: label, report: opts.Mutated, copies: make(map[object.Key]original[T])}
		i.contents.detector = i.detector
	}
	i.failed.Store(new(make(chan struct{})))
	opts.Metrics.Gauge("informer_objects", "Objects in the store.", "informer").
		SetFunc(func() float64 { return float64(i.contents.len()) }, label)
	i.contents.log = cmp.Or(opts.Logger, slog.Default()).With("informer", label)
	i.fifo = reflector.NewDeltaFIFO[T](i.contents.has)
	i.reflector = reflector.New(source, sink[T]{i.fifo, i.contents}, reflector.Options[T]{
		Name:             opts.Name,
		Namespace:        opts.Namespace,
		Logger:           opts.Logger,
		Transform:        opts.Transform,
		DisableWatchList: opts.DisableWatchList,
		PageSize:         opts.PageSize,
		Metrics:          opts.Metrics,
		Failed:           func(*reflector.SyncError) { close(*i.failed.Swap(new(make(chan struct{})))) },
	})
	return i
}

// Synced returns a channel that is closed when the store has the first complete state of the source.
func (i *Informer[T]) Synced() <-chan struct{} { return i.fifo.Synced() }

// Wait blocks until [Informer.Synced] is closed. It fails with [ErrEnded] if Run ends first, and with the error and
// cause of ctx if ctx ends first. Both errors include the reason why the informer has not synced, if known. Wait fails
// at once for a kind that the API server does not serve: meta.IsNoMatchError reports true for that error.
func (i *Informer[T]) Wait(ctx context.Context) error {
	if life.IsClosed(i.Synced()) && i.Err() == nil {
		return nil
	}
	why := i.wait(ctx)
	if why == nil {
		return nil
	}
	if err := i.Err(); err != nil {
		why = fmt.Errorf("%w: %w", why, err)
	}
	return notSynced(i.label, why)
}

// errAbsent is prepended to the reflector's error, which has the kind.
var errAbsent = errors.New("the API server does not know the kind")

// wait returns the reason why the informer cannot sync.
func (i *Informer[T]) wait(ctx context.Context) error {
	for {
		failed := *i.failed.Load() // loaded before Err is read
		switch {
		case apimeta.IsNoMatchError(i.Err()):
			return errAbsent
		case life.IsClosed(i.Synced()):
			return nil
		}
		select {
		case <-i.Synced():
		case <-failed:
		case <-i.ended:
			return ErrEnded
		case <-ctx.Done():
			return endOf(ctx)
		}
	}
}

// AddIndex adds an index to the store and fills it. It can be called at any time. Adding an index twice does nothing.
func (i *Informer[T]) AddIndex(ix Indexer[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.contents.addIndex(ix)
}

// AddHandler calls h for every existing object, with Added events that have Initial set, and for every later change. It
// can be called at any time and does not wait for h. Handlers run independently of each other. Each handler receives
// one event at a time, and the events of one object in order. After Run has returned, h is not called again.
func (i *Informer[T]) AddHandler(h Handler[T]) *Registration {
	return i.addHandler(h, false, func() {}, func() {})
}

// AddKeyHandler is [Informer.AddHandler] for a handler that reads only the key, UID and resource version of unchanged
// objects, as in Initial events and resyncs. If T is an interface, a packed store does not unpack these objects. The
// events instead contain placeholders, whose other methods panic. All other events contain the objects.
func (i *Informer[T]) AddKeyHandler(h Handler[T]) *Registration {
	return i.addHandler(h, true, func() {}, func() {})
}

// addHandler implements AddHandler and, if byKey is set, AddKeyHandler. It calls onSynced after the initial events, and
// onDone after the last call of the handler. The two functions must not block.
func (i *Informer[T]) addHandler(h Handler[T], byKey bool, onSynced, onDone func()) *Registration {
	l := newListener(h, onSynced, onDone)
	l.byKey = byKey
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.synced {
		l.push(i.contents.items.events(Event[T]{Type: Added, Initial: true}), true)
	}
	if i.stage == ended {
		l.stop()
		l.finish()
	} else {
		i.listeners[l] = struct{}{}
	}
	if i.stage == running {
		i.handlers.Go(l.run)
	}
	return &Registration{synced: l.synced, done: l.done, remove: func() { i.removeHandler(l) }, removed: &l.removed}
}

// Run keeps the store up to date and calls the handlers until ctx ends. It returns nil after its last goroutine has
// ended and the last handler has returned. It can be called once; further calls return [ErrAlreadyRun].
func (i *Informer[T]) Run(ctx context.Context) error {
	ctx, stopRun := context.WithCancel(ctx)
	defer stopRun()
	if !i.begin(stopRun) {
		return ErrAlreadyRun
	}
	i.follow(ctx)
	i.end()
	return nil
}

// stop ends Run, and does not wait for its end. If Run has not been called, it fails from then on.
func (i *Informer[T]) stop() {
	if i.begin(func() {}) {
		i.end()
	}
	i.stopRun()
}

// begin starts the handlers that were added before Run. It reports whether this is the first call.
func (i *Informer[T]) begin(stopRun func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stage != created {
		return false
	}
	i.stage, i.stopRun = running, stopRun
	for l := range i.listeners {
		i.handlers.Go(l.run)
	}
	return true
}

// end stops all handlers and waits for them.
func (i *Informer[T]) end() {
	i.mu.Lock()
	i.stage = ended
	close(i.ended)
	for l := range i.listeners {
		l.stop()
	}
	clear(i.listeners)
	i.mu.Unlock()
	i.handlers.Wait()
	i.detector.check()
	close(i.done)
}

func (i *Informer[T]) removeHandler(l *listener[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, ok := i.listeners[l]; !ok {
		return
	}
	delete(i.listeners, l)
	l.removed.Store(true)
	l.stop()
	if i.stage == created {
		l.finish()
	}
}

// handle applies deltas to the store and passes the events to the listeners.
func (i *Informer[T]) handle(deltas reflector.Deltas[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.contents.advance(deltas)
	first := deltas[0].Type == reflector.Replaced && !i.synced
	if first {
		i.synced = true
		events.markInitial()
	}
	folded := 0
	for l := range i.listeners {
		folded += l.push(events, first)
	}
	if folded > 0 {
		i.folded.Add(float64(folded), i.label)
	}
	if first && i.onSynced != nil {
		i.onSynced()
	}
}

// ErrAlreadyRun is returned by every call of Run after the first one, of an informer or a factory.
var ErrAlreadyRun = life.ErrAlreadyRun

// minResync is the minimum resync interval.
const minResync = time.Second

// Options configures an [Informer] or a [Scoped] informer. The zero value is ready for use.
type Options[T object.Object] struct {
	// Name identifies the informer in logs, metrics and errors. It should be the name of the resource, such as
	// "guestbooks.webapp.example.com". The default is the name of the type T.
	Name string
	// Namespace is the only namespace of the objects, or "". Logs and errors show it with Name.
	Namespace string
	// Logger receives messages about failures. Nil means slog.Default().
	Logger *slog.Logger
	// Resync is the interval at which handlers receive every object of the store again, as Updated events. A resync sends
	// no requests. Zero disables resyncs; the minimum is one second.
	Resync time.Duration
	// Transform, if set, is applied once to each object that arrives, before the store and the handlers see it. It may
	// modify everything except the namespace and the name. If it returns an error, the error is logged and the object
	// keeps its previous state.
	Transform func(T) (T, error)
	// Indexes are the initial indexes of the store.
	Indexes []Indexer[T]
	// DisableWatchList makes the informer start with a LIST request even if the server can stream the initial state.
	DisableWatchList bool
	// PageSize is the number of objects per page of a LIST. If it is zero, the informer requests pages of 500 objects
	// where paging does not bypass the server's cache, and a single page otherwise. Any other value always applies.
	PageSize int64
	// Observer, if set, receives each change of the store before the handlers receive it.
	Observer Observer[T]
	// Packed, if set, makes the store keep its objects in a packed form, which takes a fraction of the memory: about a
	// fifth if metadata and conditions are kept. Each read from the store, and each read of the old state in an event,
	// unpacks the object. Unpacking takes about as long as a deep copy, and the reader owns the result. The handlers still
	// share the object of an event, except in initial events and resyncs. Index functions receive temporary objects. If an
	// object cannot be packed, the error is logged and the object keeps its previous state.
	Packed *Packing[T]
	// Metrics receives the informer's metrics. Nil disables them.
	Metrics *metrics.Registry
	// Mutated, if set, is called for each object that was modified while it was in the store. It is intended for tests,
	// which pass a function that calls t.Error. Detection keeps a copy of each object, and compares all objects with their
	// copies each second and at the end of Run. Mutated is called from goroutines of Run, which waits for it. With Packed,
	// it detects nothing, because the store keeps no objects that readers could modify.
	Mutated func(*MutationError)
}

// Observer receives each change of a store. Use it for state that must stay up to date with the store, such as a custom
// index. Handlers receive changes later.
type Observer[T object.Object] interface {
	// Applied is called after each change. The store then has all changes up to version, and events are the resulting
	// events. There are no events for bookmarks and for resyncs of packed stores. The calls are sequential. Applied must
	// not call the informer and must not block, because the informer waits for it.
	Applied(version string, events []Event[T])
	// Listed is called instead of Applied when an empty packed store has received a complete state. The iterator is valid
	// only during the call, and unpacks the objects one by one.
	Listed(version string, objects iter.Seq[T])
}

// Name returns Options.Name.
func (i *Informer[T]) Name() string { return i.name }

// Namespace returns Options.Namespace.
func (i *Informer[T]) Namespace() string { return i.namespace }

// Observer returns Options.Observer.
func (i *Informer[T]) Observer() Observer[T] { return i.contents.observer }

// Store returns the read side of the store, which is empty before the first list and keeps its last state after Run.
func (i *Informer[T]) Store() Store[T] { return Store[T]{i.contents} }

// Err returns the reason why the store is out of date, as a *[reflector.SyncError]. It returns nil if the store is up
// to date, and before Run. The informer retries failing lists and watches until Run ends.
func (i *Informer[T]) Err() error               { return i.reflector.Err() }
func (i *Informer[T]) stores(string) []Store[T] { return []Store[T]{i.Store()} }

// follow calls handle sequentially for the changes of the source until ctx ends and its last goroutine has ended.
func (i *Informer[T]) follow(ctx context.Context) {
	var workers sync.WaitGroup
	workers.Go(func() { i.reflector.Run(ctx) })
	if i.resync > 0 {
		workers.Go(func() {
			every(ctx, max(i.resync, minResync), func() { i.fifo.Push(reflector.Delta[T]{Type: reflector.Sync}) })
		})
	}
	if i.detector != nil {
		workers.Go(func() { every(ctx, mutationPeriod, i.detector.check) })
	}
	_ = i.fifo.Run(ctx, i.handle) // returns when ctx ends
	// The queue is closed before the wait, so that it drops further pushes of the reflector.
	i.fifo.Close()
	workers.Wait()
}

// every calls work once per period until ctx ends.
func every(ctx context.Context, period time.Duration, work func()) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			work()
		}
	}
}

// ErrRemoved is wrapped by the error of a wait for a handler that was removed.
var ErrRemoved = errors.New("the handler was removed")

// ErrEnded is wrapped by the error of a wait for an informer whose Run has ended. [Shared] returns it for a new kind
// after the factory's Run has ended.
var ErrEnded = errors.New("the informer has ended")

// Registration is the registration of a handler with an informer. It is safe for concurrent use.
type Registration struct {
	synced <-chan struct{}
	done   <-chan struct{}
	remove func()
	// removed is set before done is closed, unless the informer has ended.
	removed *atomic.Bool
}

// Foreign returns a registration for an informer that this package does not implement, such as a test double. Its
// Synced is closed from the start. Remove calls remove once, and closes Done.
func Foreign(remove func()) *Registration {
	synced, done := make(chan struct{}), make(chan struct{})
	close(synced)
	return &Registration{synced: synced, done: done, removed: &atomic.Bool{}, remove: sync.OnceFunc(func() {
		remove()
		close(done)
	})}
}

// Synced returns a channel that is closed after the handler has returned from the last of its Initial events. The
// handler has then seen all objects that existed when it was added, or the first list. If the handler is removed or the
// informer ends earlier, the channel is never closed, and [Registration.Wait] fails.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Wait blocks until [Registration.Synced] is closed. It fails with [ErrRemoved] if the handler was removed first, with
// [ErrEnded] if the informer ended first, and with the error of ctx and its cause if ctx ended first.
func (r *Registration) Wait(ctx context.Context) error {
	var why error
	select {
	case <-r.synced:
	case <-r.done:
		why = ErrEnded
		if r.removed.Load() {
			why = ErrRemoved
		}
	case <-ctx.Done():
		why = endOf(ctx)
	}
	if life.IsClosed(r.synced) { // several channels may be closed, in which case select chooses any
		return nil
	}
	return why
}

// Remove removes the handler, which then receives no further events. Remove does not wait for a call in progress, so
// the handler itself may call it; [Registration.Done] is closed when that call has returned. Remove does nothing if it
// was called before or if the informer has ended.
func (r *Registration) Remove() { r.remove() }

// Done returns a channel that is closed when the handler was removed, or its informer has ended, and the last call of
// the handler has returned. A handler must not wait for its own Done.
func (r *Registration) Done() <-chan struct{} { return r.done }

// waitFor blocks until done is closed. If ctx ends first, it returns the error of ctx together with the results of
// unsynced. If ended is closed first, it returns ErrEnded instead.
func waitFor(ctx context.Context, done, ended <-chan struct{}, unsynced func() []error) error {
	why := ErrEnded
	select {
	case <-done:
	case <-ended:
	case <-ctx.Done():
		why = endOf(ctx)
	}
	if life.IsClosed(done) {
		return nil
	}
	return errors.Join(append(unsynced(), why)...)
}

// endOf returns the error of ctx together with its cause, if the cause is more specific.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// notSynced returns the error for an informer that has not synced, with that name and the reason if it is known.
func notSynced(name string, why error) error {
	if why == nil {
		return fmt.Errorf("%s has not synced", name)
	}
	return fmt.Errorf("%s has not synced: %w", name, why)
}
