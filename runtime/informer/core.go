package informer

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ErrAlreadyRun is returned by the second Run of an informer, or of a factory.
var ErrAlreadyRun = errors.New("informer was run before")

// minResync is the shortest resync period.
const minResync = time.Second

// Options tune an [Informer], a [Private] one or a [Scoped] one. The zero value is useful.
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
	// Applied, if set, is called after each change of the store, before the handlers are told: the store has everything
	// up to version, and events is what that meant. It is called for bookmarks too, without events. It is called by one
	// goroutine at a time, must not call the informer, and must not block, since everything waits for it. With Packed,
	// a whole state comes in parts: version is empty in all calls but the last.
	Applied func(version string, events []Event[T])
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

func (o Options[T]) reflector() ReflectorOptions[T] {
	return ReflectorOptions[T]{
		Name:             o.Name,
		Namespace:        o.Namespace,
		Logger:           o.Logger,
		Transform:        o.Transform,
		DisableWatchList: o.DisableWatchList,
		PageSize:         o.PageSize,
		Metrics:          o.Metrics,
	}
}

// core is what every informer has: a store, and a reflector that keeps it in step by way of a queue.
type core[T object.Object] struct {
	name      string
	label     string // the informer in metrics
	resync    time.Duration
	metrics   instruments
	contents  *contents[T]
	fifo      *DeltaFIFO[T]
	reflector *Reflector[T]
	detector  *mutationDetector[T]                    // nil finds nothing
	applied   func(version string, events []Event[T]) // nil is not told
}

func newCore[T object.Object](lw ListerWatcher[T], opts Options[T]) core[T] {
	opts.Name = cmp.Or(opts.Name, reflect.TypeFor[T]().String())
	c := core[T]{
		name:     opts.Name,
		label:    label(opts.Name, opts.Namespace),
		resync:   opts.Resync,
		metrics:  newInstruments(opts.Metrics),
		contents: newContents(opts.Indexes, opts.Packed),
		applied:  opts.Applied,
	}
	if opts.Mutated != nil && opts.Packed == nil {
		c.detector = &mutationDetector[T]{informer: c.label, report: opts.Mutated, copies: make(map[object.Key]original[T])}
		c.contents.detector = c.detector
	}
	c.metrics.objects.SetFunc(func() float64 { return float64(c.contents.len()) }, c.label)
	c.fifo = NewDeltaFIFO[T](c.contents.has)
	if r, ok := lw.(reuser[T]); ok {
		lw = r.Reusing(c.contents.known)
	}
	c.reflector = NewReflector(lw, c.fifo, opts.reflector())
	c.contents.log = c.reflector.log
	if opts.Packed != nil {
		contents := c.contents
		c.reflector.gather = func(size int) gathering[T] { return newPackedState(contents, size) }
	}
	return c
}

// reuser is a source that need not decode again what the store has.
type reuser[T object.Object] interface {
	Reusing(known func() client.Known[T]) *client.ListWatcher[T]
}

// Name returns the name from the options.
func (c *core[T]) Name() string { return c.name }

// Store returns the read side of the store. It is empty before the first list, and keeps the last state after Run.
func (c *core[T]) Store() Store[T] { return Store[T]{c.contents} }

// Err returns why the store is not in step with the source, as a *[SyncError], or nil when it is, and before Run.
// A failing list or watch is retried for as long as Run runs.
func (c *core[T]) Err() error { return c.reflector.Err() }

// process brings the store to the state after deltas and returns what that means for handlers.
func (c *core[T]) process(deltas Deltas[T]) batch[T] {
	events := c.contents.process(deltas)
	if c.applied == nil {
		return events
	}
	for chunk, last := range events.chunks() {
		version := ""
		if last {
			version = c.contents.version
		}
		c.applied(version, chunk)
	}
	return events
}

func (c *core[T]) stores(string) []Store[T] { return []Store[T]{c.Store()} }

// follow calls process with what happens to the source, one after the other, until ctx ends. It returns after the last
// goroutine that it has started has ended.
func (c *core[T]) follow(ctx context.Context, process func(Deltas[T])) {
	var workers sync.WaitGroup
	workers.Go(func() { c.reflector.Run(ctx) })
	if c.resync > 0 {
		workers.Go(func() {
			every(ctx, max(c.resync, minResync), func() { c.fifo.Push(Delta[T]{Type: Sync}) })
		})
	}
	if c.detector != nil {
		workers.Go(func() { every(ctx, mutationPeriod, c.detector.check) })
	}
	stop := c.fifo.wakeAtEnd(ctx)
	for c.fifo.pop(ctx, process) == nil {
	}
	stop()
	c.fifo.Close()
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
