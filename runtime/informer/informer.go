package informer

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"

	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"reflect"
	"sync"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// Informer keeps a store in step with a resource of the API server and tells any number of handlers about the changes.
// All methods are safe for concurrent use.
type Informer[T object.Object] struct {
	name      string
	namespace string
	label     string // the informer in metrics
	resync    time.Duration
	metrics   instruments
	contents  *contents[T]
	fifo      *reflector.DeltaFIFO[T]
	reflector *reflector.Reflector[T]
	failures  signal
	detector  *mutationDetector[T] // nil finds nothing

	// mu makes one step of changing the store and handing the events to the listeners, so that a new handler sees each
	// object exactly once. The mutexes of the store and of the listeners are taken under it, never the other way round.
	mu        sync.Mutex
	stage     stage
	synced    bool          // the first list is in the store, and its events are with the listeners
	onSynced  func()        // called, if set, when synced is set; it must not block. Set before Run
	ended     chan struct{} // closed when stage is ended
	listeners map[*listener[T]]struct{}
	handlers  sync.WaitGroup // counts the listeners' goroutines; grows only while stage is running
}

// stage is where an informer is in its life.
type stage int

const (
	created stage = iota
	running
	ended
)

// New returns an informer of what source has. It starts nothing: [Informer.Run] does.
func New[T object.Object](source reflector.ListerWatcher[T], opts Options[T]) *Informer[T] {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	opts.Metrics = opts.Metrics.Sub()
	i := &Informer[T]{
		name: opts.Name, namespace: opts.Namespace,
		label:    label(opts.Name, opts.Namespace),
		resync:   opts.Resync,
		metrics:  newInstruments(opts.Metrics),
		contents: newContents(opts.Indexes, opts.Packed),

		ended: make(chan struct{}), listeners: make(map[*listener[T]]struct{}),
	}
	i.contents.observer = opts.Observer
	if opts.Mutated != nil && opts.Packed == nil {
		i.detector = &mutationDetector[T]{informer: i.label, report: opts.Mutated, copies: make(map[object.Key]original[T])}
		i.contents.detector = i.detector
	}
	i.metrics.objects.SetFunc(func() float64 { return float64(i.contents.len()) }, i.label)
	i.contents.log = cmp.Or(opts.Logger, slog.Default()).With("informer", i.label)
	i.fifo = reflector.NewDeltaFIFO[T](i.contents.has)
	i.reflector = reflector.New(source, sink[T]{i.fifo, i.contents}, reflector.Options[T]{
		Name:             opts.Name,
		Namespace:        opts.Namespace,
		Logger:           opts.Logger,
		Transform:        opts.Transform,
		DisableWatchList: opts.DisableWatchList,
		PageSize:         opts.PageSize,
		Metrics:          opts.Metrics,
		Failed:           func(*reflector.SyncError) { i.failures.send() },
	})
	return i
}

// Synced is closed when the store holds the first complete state of the source.
func (i *Informer[T]) Synced() <-chan struct{} { return i.fifo.Synced() }

// Wait blocks until [Informer.Synced] is closed. It fails with [ErrEnded] when Run ends before, and with the error of ctx
// and its cause when that ends; both say why the informer has not synced, if that is known. It does not wait for a kind
// that the API server does not know, or knows no longer: the error is then as of a request, see meta.IsNoMatchError.
func (i *Informer[T]) Wait(ctx context.Context) error {
	if isDone(i.Synced()) && i.Err() == nil {
		return nil
	}
	why := i.wait(ctx)
	if why == nil {
		return nil
	}
	if err := i.Err(); err != nil {
		return fmt.Errorf("%s has not synced: %w: %w", i.label, why, err)
	}
	return fmt.Errorf("%s has not synced: %w", i.label, why)
}

// errAbsent stands before the error of the reflector, which says the kind.
var errAbsent = errors.New("the API server does not know the kind")

// wait returns why there is nothing to wait for.
func (i *Informer[T]) wait(ctx context.Context) error {
	for {
		failed := i.failures.next() // before Err is asked
		if apimeta.IsNoMatchError(i.Err()) {
			return errAbsent
		}
		select {
		case <-i.Synced():
			return nil
		default:
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

// AddIndex adds an index to the store, with what is there already. It can be called at any time; adding an index twice
// does nothing.
func (i *Informer[T]) AddIndex(ix Indexer[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.contents.addIndex(ix)
}

// AddHandler makes h be told about every object that exists, as Added events with Initial set, and about every change
// from then on. It can be called at any time and does not wait for h. Handlers run independently of each other; one
// handler is called for one event at a time, and the events of one object come in the order in which they happened.
// After Run has returned, h is never called.
func (i *Informer[T]) AddHandler(h Handler[T]) *Registration {
	return i.addHandler(h, false, func() {}, func() {})
}

// AddKeyHandler is [Informer.AddHandler] for a handler that reads only the key, the UID and the resource version of an
// object that has not changed: in an event that is Initial, and of a resync. A packed store, if T is an interface, does
// not unpack these objects: the event has placeholders, whose other methods panic. All other events have the objects.
func (i *Informer[T]) AddKeyHandler(h Handler[T]) *Registration {
	return i.addHandler(h, true, func() {}, func() {})
}

// addHandler is AddHandler, or with byKey AddKeyHandler; onSynced is called when the handler has seen its initial
// events, and onDone when it is not called again. They must not block.
func (i *Informer[T]) addHandler(h Handler[T], byKey bool, onSynced, onDone func()) *Registration {
	l := newListener(h, onSynced, onDone)
	l.byKey = byKey
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.synced {
		l.push(i.contents.initial(), true)
	}
	switch i.stage {
	case created:
		i.listeners[l] = struct{}{}
	case running:
		i.listeners[l] = struct{}{}
		i.handlers.Go(l.run)
	case ended:
		l.stop()
		l.finish()
	}
	return &Registration{synced: l.synced, done: l.done, remove: func() { i.removeHandler(l) }, err: l.err}
}

// Run keeps the store in step and the handlers informed until ctx ends, and then returns nil after its last goroutine
// has ended and the last handler has returned. It can be called once, and returns ErrAlreadyRun otherwise.
func (i *Informer[T]) Run(ctx context.Context) error {
	if !i.begin() {
		return ErrAlreadyRun
	}
	i.follow(ctx)
	i.end()
	return nil
}

// endUnrun makes an informer that has not run one that has.
func (i *Informer[T]) endUnrun() {
	if i.begin() {
		i.end()
	}
}

// begin starts the handlers that were added so far. It reports whether this is the first Run.
func (i *Informer[T]) begin() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.stage != created {
		return false
	}
	i.stage = running
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

// handle brings the store to the state after deltas and hands the events to the listeners.
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
		i.metrics.folded.Add(float64(folded), i.label)
	}
	if first && i.onSynced != nil {
		i.onSynced()
	}
}

// ErrAlreadyRun is returned by the second Run of an informer, or of a factory.
var ErrAlreadyRun = life.ErrAlreadyRun

// minResync is the shortest resync period.
const minResync = time.Second

// Options tune an [Informer] or a [Scoped] one. The zero value is useful.
type Options[T object.Object] struct {
	// Name names the informer in logs, metrics and errors. It should be that of the resource, such as
	// "guestbooks.webapp.example.com". The default is the name of the type T.
	Name string
	// Namespace is the namespace whose objects these are, if they are of one: it is named beside Name.
	Namespace string
	// Logger is where failures are logged; nil is slog.Default().
	Logger *slog.Logger
	// Resync is how often every object in the store is delivered to the handlers again, as an Updated. It asks nothing
	// of the API server. Zero is never; less than a second is a second.
	Resync time.Duration
	// Transform, if set, is applied to each object once when it arrives, before the store or a handler sees it. It may
	// modify the object. An object for which it fails is logged and left as it was before. Transform must not change
	// the namespace and the name.
	Transform func(T) (T, error)
	// Indexes are the indexes of the store. More can be added later.
	Indexes []Indexer[T]
	// DisableWatchList makes the informer begin with a LIST even if the server can stream the initial state.
	DisableWatchList bool
	// PageSize is the number of objects per page of a LIST. Zero is 500 where paging does not bypass the server's
	// cache, and one page otherwise; another value is used always.
	PageSize int64
	// Observer, if set, is told of each change of the store, before the handlers are.
	Observer Observer[T]
	// Packed, if set, keeps the objects packed in the store, which takes a fraction of the memory: where metadata and
	// conditions are kept, about a fifth. What is read from the store, and the old state in an event, is then unpacked
	// each time: that costs about as much as a deep copy, and the object is the reader's own. The object in an event is
	// shared by the handlers as ever, save in what a new handler or a resync is told. Index functions are called with
	// objects that nobody keeps. An object that cannot be packed is logged and left as it was before.
	Packed *Packing[T]
	// Metrics is where the informer's metrics are registered; nil is nowhere.
	Metrics *metrics.Registry
	// Mutated, if set, is told of every object that somebody has modified although it is in the store. It is meant for
	// tests, which pass a function that calls t.Error: finding out costs a copy of each object, and a comparison of all of
	// them each second and at the end of Run. Mutated is called from goroutines of Run, which waits for it. With Packed
	// there is nothing to find, since no object is in the store.
	Mutated func(*MutationError)
}

// Observer is told of each change of a store. It is for what has to be in step with the store, such as an index of one's own:
// handlers hear of a change later.
type Observer[T object.Object] interface {
	// Applied is called after each change: the store has everything up to version, and events is what that meant. It is
	// called for bookmarks too, without events. It is called by one goroutine at a time, must not call the informer, and
	// must not block, since everything waits for it. A resync of a packed store comes without events.
	Applied(version string, events []Event[T])
	// Listed is called in place of Applied when a packed store that was empty has received a whole state. The iteration
	// is valid during the call, and unpacks each object when it comes to it.
	Listed(version string, objects iter.Seq[T])
}

// Name returns the name from the options.
func (i *Informer[T]) Name() string { return i.name }

// Namespace returns the namespace from the options.
func (i *Informer[T]) Namespace() string { return i.namespace }

// Observer returns the observer from the options, for one who has found the informer and not made it.
func (i *Informer[T]) Observer() Observer[T] { return i.contents.observer }

// Store returns the read side of the store. It is empty before the first list, and keeps the last state after Run.
func (i *Informer[T]) Store() Store[T] { return Store[T]{i.contents} }

// Err returns why the store is not in step with the source, as a *[reflector.SyncError], or nil when it is, and before Run.
// A failing list or watch is retried for as long as Run runs.
func (i *Informer[T]) Err() error { return i.reflector.Err() }

func (i *Informer[T]) store(string) (Store[T], bool) { return i.Store(), true }

func (i *Informer[T]) stores() []Store[T] { return []Store[T]{i.Store()} }

// follow calls handle with what happens to the source, one after the other, until ctx ends. It returns after the last
// goroutine that it has started has ended.
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
	_ = i.fifo.Run(ctx, i.handle) // until ctx ends
	// Before the wait: a reflector that pushes meanwhile pushes into nothing.
	i.fifo.Close()
	workers.Wait()
}

// every calls work once in each period until ctx ends.
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

// signal tells any number of goroutines of something that happens now and then. The zero value is ready.
type signal struct {
	mu      sync.Mutex
	waiting chan struct{} // closed by the next send; nil while nobody waits
}

// next returns a channel that the next send closes.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = make(chan struct{})
	}
	return s.waiting
}

func (s *signal) send() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting != nil {
		close(s.waiting)
		s.waiting = nil
	}
}

// ErrRemoved is in the error of a wait for a handler that was removed.
var ErrRemoved = errors.New("the handler was removed")

// ErrEnded is in the error of a wait for an informer whose Run has ended before, and of [Shared] for a kind that is new to a
// factory whose Run has ended.
var ErrEnded = errors.New("the informer has ended")

// Registration is one handler's place at an informer. All methods are safe for concurrent use.
type Registration struct {
	synced <-chan struct{}
	done   <-chan struct{}
	remove func()
	err    func() error // why done is closed
}

// Foreign returns the registration of a handler with what is no informer of this package, such as what stands for one in a test. It has
// synced. Remove calls remove, once, and closes Done.
func Foreign(remove func()) *Registration {
	synced, done := make(chan struct{}), make(chan struct{})
	close(synced)
	return &Registration{
		synced: synced, done: done, err: func() error { return ErrRemoved },
		remove: sync.OnceFunc(func() {
			remove()
			close(done)
		}),
	}
}

// Synced is closed when the handler has returned from the last of its Initial events: it has then seen all that
// existed when it was added, or all of the first list. It is never closed earlier, and is not closed at all if the
// handler is removed or the informer ends before that: [Registration.Wait] ends then, too.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Wait blocks until [Registration.Synced] is closed. It fails with [ErrRemoved] when the handler was removed before, with
// [ErrEnded] when the informer has ended before, and with the error of ctx and its cause when that ends.
func (r *Registration) Wait(ctx context.Context) error {
	select {
	case <-r.synced:
	case <-r.done:
		// Both may be closed, and select takes either.
		if !isDone(r.synced) {
			return r.err()
		}
	case <-ctx.Done():
		if !isDone(r.synced) {
			return endOf(ctx)
		}
	}
	return nil
}

// Remove takes the handler away: it is not called for another event. It does not wait for a call that is under way, so it
// can be called from anywhere, the handler itself included; [Registration.Done] tells when that has returned. Removing
// twice, or after the informer has ended, does nothing.
func (r *Registration) Remove() { r.remove() }

// Done is closed when the handler was removed, or its informer has ended, and the handler has returned from its last call.
// A handler must not wait for its own.
func (r *Registration) Done() <-chan struct{} { return r.done }

// waitFor blocks until done is closed. If ctx ends earlier, the error has that of ctx and what unsynced returns, and if
// ended is closed earlier ErrEnded in its place.
func waitFor(ctx context.Context, done, ended <-chan struct{}, unsynced func() []error) error {
	why := ErrEnded
	select {
	case <-done:
	case <-ended:
	case <-ctx.Done():
		why = endOf(ctx)
	}
	if isDone(done) {
		return nil
	}
	return errors.Join(append(unsynced(), why)...)
}

// endOf returns the error of ctx, with its cause if that says more.
func endOf(ctx context.Context) error {
	if cause := context.Cause(ctx); cause != ctx.Err() {
		return fmt.Errorf("%w: %w", ctx.Err(), cause)
	}
	return ctx.Err()
}

// notSynced says that what has that name has not synced, and why if that is known.
func notSynced(name string, why error) error {
	if why == nil {
		return fmt.Errorf("%s has not synced", name)
	}
	return fmt.Errorf("%s has not synced: %w", name, why)
}

func isDone(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// instruments are the metrics of one informer.
type instruments struct {
	registry *metrics.Registry
	folded   *metrics.Counter
	objects  *metrics.Gauge
}

func newInstruments(registry *metrics.Registry) instruments {
	return instruments{
		registry: registry,
		folded:   registry.Counter("informer_folded_events_total", "Events of slow handlers folded into others of the same object.", "informer"),
		objects:  registry.Gauge("informer_objects", "Objects in the store.", "informer"),
	}
}

// label is what the metrics call an informer.
func label(name, namespace string) string {
	if namespace == "" {
		return name
	}
	return name + "/" + namespace
}
