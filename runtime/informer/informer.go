package informer

import (
	"context"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Informer keeps a store in step with a resource of the API server and tells any number of handlers about the changes.
// All methods are safe for concurrent use.
type Informer[T object.Object] struct {
	core[T]

	// mu makes one step of changing the store and handing the events to the listeners, so that a new handler sees each
	// object exactly once. The mutexes of the store and of the listeners are taken under it, never the other way round.
	mu        sync.Mutex
	stage     stage
	synced    bool          // the first list is in the store, and its events are with the listeners
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

// New returns an informer of what lw has. It starts nothing: [Informer.Run] does.
func New[T object.Object](lw ListerWatcher[T], opts Options[T]) *Informer[T] {
	return &Informer[T]{core: newCore(lw, opts), ended: make(chan struct{}), listeners: make(map[*listener[T]]struct{})}
}

// Synced is closed when the store holds the first complete state of the source.
func (i *Informer[T]) Synced() <-chan struct{} { return i.fifo.Synced() }

// Wait blocks until [Informer.Synced] is closed. It fails with [ErrEnded] when Run ends before, and with the error of ctx
// and its cause when that ends; both say why the informer has not synced, if that is known.
func (i *Informer[T]) Wait(ctx context.Context) error {
	return waitFor(ctx, i.Synced(), i.ended, func() []error { return []error{notSynced(i.label, i.Err())} })
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
	return i.addHandler(h, func() {}, func() {})
}

// addHandler is AddHandler; onSynced is called when the handler has seen its initial events, and onDone when it is not
// called again. They must not block.
func (i *Informer[T]) addHandler(h Handler[T], onSynced, onDone func()) *Registration {
	l := newListener(h, onSynced, onDone)
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
	i.follow(ctx, i.handle)
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
func (i *Informer[T]) handle(deltas Deltas[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.process(deltas)
	first := deltas[0].Type == Replaced && !i.synced
	if first {
		i.synced = true
		events.markInitial()
	}
	i.distributeLocked(events, first)
}

func (i *Informer[T]) distributeLocked(events batch[T], first bool) {
	folded := 0
	for l := range i.listeners {
		folded += l.push(events, first)
	}
	if folded > 0 {
		i.metrics.folded.Add(float64(folded), i.label)
	}
}
