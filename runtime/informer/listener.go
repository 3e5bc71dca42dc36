package informer

import (
	"sync"
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// listener calls one handler from one goroutine. What the handler has not been told yet waits in a backlog, which
// compacts per key, so a slow handler holds up nobody and costs memory for objects, not for changes.
type listener[T object.Object] struct {
	handler  Handler[T]
	onSynced func() // called before synced is closed
	onDone   func() // called after done was closed
	synced   chan struct{}
	done     chan struct{} // closed when the handler will not be called again
	removed  atomic.Bool   // set before stopped
	stopped  atomic.Bool   // set under mu

	mu      sync.Mutex
	changed sync.Cond // signalled when something was pushed or the listener was stopped
	pending outbox[T]
}

func newListener[T object.Object](handler Handler[T], onSynced, onDone func()) *listener[T] {
	l := &listener[T]{handler: handler, onSynced: onSynced, onDone: onDone, synced: make(chan struct{}), done: make(chan struct{})}
	l.changed.L = &l.mu
	return l
}

// push appends the events of b, and after them the mark at which the listener is synced if initial is set. It returns how
// many events were folded into others.
func (l *listener[T]) push(b batch[T], initial bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped.Load() {
		return 0
	}
	folded := l.pending.push(b, initial)
	l.changed.Signal()
	return folded
}

// run delivers until stop.
func (l *listener[T]) run() {
	defer l.finish()
	for {
		events, synced, ok := l.take()
		if !ok {
			return
		}
		if synced {
			l.onSynced()
			close(l.synced)
			continue
		}
		l.deliver(events)
	}
}

// finish says that the handler will not be called again.
func (l *listener[T]) finish() {
	close(l.done)
	l.onDone()
}

// err returns why the handler will not be called again.
func (l *listener[T]) err() error {
	if l.removed.Load() {
		return ErrRemoved
	}
	return ErrEnded
}

func (l *listener[T]) deliver(events []Event[T]) {
	for _, e := range events {
		if l.stopped.Load() {
			return
		}
		l.handler(e)
	}
}

// take waits for what is next: some events, or the mark at which the listener is synced. It reports false after stop.
func (l *listener[T]) take() (events []Event[T], synced, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.pending.empty() && !l.stopped.Load() {
		l.changed.Wait()
	}
	if l.stopped.Load() {
		return nil, false, false
	}
	events, synced = l.pending.take()
	return events, synced, true
}

// stop ends run after the event that it is delivering. What waits is dropped.
func (l *listener[T]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped.Store(true)
	l.pending = outbox[T]{}
	l.changed.Broadcast()
}
