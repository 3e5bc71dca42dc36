package informer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ErrAlreadyRun is returned by a second [Informer.Run].
var ErrAlreadyRun = errors.New("informer was run before")

// minResync is the shortest resync period.
const minResync = time.Second

// Options tune an [Informer]. The zero value is useful.
type Options[T object.Object] struct {
	// Name names the informer in logs, metrics and errors. It should be that of the resource, such as
	// "guestbooks.webapp.example.com". The default is the name of the type T.
	Name string
	// Logger is where failures are logged; nil is slog.Default().
	Logger *slog.Logger
	// Resync is how often every object in the store is delivered to the handlers again, as an Updated. It asks nothing
	// of the API server. Zero is never; less than a second is a second.
	Resync time.Duration
	// Transform, if set, is applied to each object once when it arrives, before the store or a handler sees it. It may
	// modify the object. An object for which it fails is logged and left as it was before. Transform must not change
	// the namespace and the name.
	Transform func(T) (T, error)
	// Indexers are the indexes of the store, by name.
	Indexers map[string]IndexFunc[T]
	// DisableWatchList makes the informer begin with a LIST even if the server can stream the initial state.
	DisableWatchList bool
	// PageSize is the number of objects per page of a LIST. Zero is 500 where paging does not bypass the server's
	// cache, and one page otherwise; another value is used always.
	PageSize int64
	// Metrics is where the informer's metrics are registered; nil is nowhere.
	Metrics *metrics.Registry
}

// Informer keeps a store in step with a resource of the API server and tells any number of handlers about the changes.
// All methods are safe for concurrent use.
type Informer[T object.Object] struct {
	name      string
	resync    time.Duration
	metrics   instruments
	contents  *contents[T]
	fifo      *DeltaFIFO[T]
	reflector *Reflector[T]

	// mu makes one step of changing the store and handing the events to the listeners, so that a new handler sees each
	// object exactly once. The mutexes of the store and of the listeners are taken under it, never the other way round.
	mu        sync.Mutex
	stage     stage
	synced    bool // the first list is in the store, and its events are with the listeners
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

// New returns an informer of what lw has. It starts nothing: [Informer.Run] does.
func New[T object.Object](lw ListerWatcher[T], opts Options[T]) *Informer[T] {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	i := &Informer[T]{
		name:      opts.Name,
		resync:    opts.Resync,
		metrics:   newInstruments(opts.Metrics, opts.Name),
		contents:  newContents(opts.Indexers),
		listeners: make(map[*listener[T]]struct{}),
	}
	i.metrics.objects.SetFunc(func() float64 { return float64(i.Store().Len()) }, opts.Name)
	i.fifo = NewDeltaFIFO[T](i.knows)
	i.reflector = NewReflector(lw, i.fifo, ReflectorOptions[T]{
		Name:             opts.Name,
		Logger:           opts.Logger,
		Transform:        opts.Transform,
		DisableWatchList: opts.DisableWatchList,
		PageSize:         opts.PageSize,
		Metrics:          opts.Metrics,
	})
	return i
}

// Name returns the name from the options.
func (i *Informer[T]) Name() string { return i.name }

// Store returns the read side of the store. It is empty before the first list, and keeps the last state after Run.
func (i *Informer[T]) Store() Store[T] { return Store[T]{i.contents} }

// Synced is closed when the store holds the first complete state of the source.
func (i *Informer[T]) Synced() <-chan struct{} { return i.fifo.Synced() }

// Err returns why the store is not in step with the source, as a *[SyncError], or nil when it is, and before Run.
// A failing list or watch is retried for as long as Run runs.
func (i *Informer[T]) Err() error { return i.reflector.Err() }

// AddIndex adds an index of that name to the store, with what is there already. It can be called at any time and fails
// when the name is taken.
func (i *Informer[T]) AddIndex(name string, values IndexFunc[T]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.contents.addIndex(name, values)
}

// AddHandler makes h be told about every object that exists, as Added events with Initial set, and about every change
// from then on. It can be called at any time and does not wait for h. Handlers run independently of each other; one
// handler is called for one event at a time, and the events of one object come in the order in which they happened.
// After Run has returned, h is never called.
func (i *Informer[T]) AddHandler(h Handler[T]) *Registration {
	l := newListener(h)
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
		close(l.done)
	}
	return &Registration{synced: l.synced, remove: func() { i.removeHandler(l) }}
}

// Run keeps the store in step and the handlers informed until ctx ends, and then returns nil after its last goroutine
// has ended and the last handler has returned. It can be called once, and returns ErrAlreadyRun otherwise.
func (i *Informer[T]) Run(ctx context.Context) error {
	if !i.begin() {
		return ErrAlreadyRun
	}
	var workers sync.WaitGroup
	workers.Go(func() { i.reflector.Run(ctx) })
	if i.resync > 0 {
		workers.Go(func() { i.resyncEvery(ctx, max(i.resync, minResync)) })
	}
	for {
		if err := i.fifo.Pop(ctx, i.process); err != nil {
			break
		}
	}
	i.fifo.Close()
	workers.Wait()
	i.end()
	return nil
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
	for l := range i.listeners {
		l.stop()
	}
	clear(i.listeners)
	i.mu.Unlock()
	i.handlers.Wait()
}

func (i *Informer[T]) removeHandler(l *listener[T]) {
	i.mu.Lock()
	if _, ok := i.listeners[l]; ok {
		delete(i.listeners, l)
		l.stop()
		if i.stage == created {
			close(l.done)
		}
	}
	i.mu.Unlock()
	if !insideHandler() {
		<-l.done
	}
}

func (i *Informer[T]) resyncEvery(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			i.fifo.Push(Delta[T]{Type: Sync})
		}
	}
}

// process brings the store to the state after deltas and hands the events to the listeners.
func (i *Informer[T]) process(deltas Deltas[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	first := false
	var events []Event[T]
	switch deltas[0].Type {
	case Replaced:
		events = i.contents.replace(deltas[0])
		first = !i.synced
		i.synced = true
	case Sync:
		events = i.contents.all()
	default:
		events = i.contents.apply(deltas)
	}
	if first {
		for n := range events {
			events[n].Initial = events[n].Type == Added
		}
	}
	i.distributeLocked(events, first)
}

func (i *Informer[T]) distributeLocked(events []Event[T], first bool) {
	folded := 0
	for l := range i.listeners {
		folded += l.push(events, first)
	}
	if folded > 0 {
		i.metrics.folded.Add(float64(folded), i.name)
	}
}

// knows reports whether the store has key.
func (i *Informer[T]) knows(key object.Key) bool {
	_, ok := i.Store().Get(key)
	return ok
}
