package informer

import (
	"runtime"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// listener calls one handler from one goroutine. What the handler has not been told yet waits in a backlog, which
// compacts per key, so a slow handler holds up nobody and costs memory for objects, not for changes.
type listener[T object.Object] struct {
	handler  Handler[T]
	onSynced func() // called before synced is closed
	synced   chan struct{}
	done     chan struct{} // closed when the handler will not be called again

	mu      sync.Mutex
	changed sync.Cond // signalled when something was pushed or the listener was stopped
	pending backlog[notice[T]]
	stopped bool
}

func newListener[T object.Object](handler Handler[T], onSynced func()) *listener[T] {
	l := &listener[T]{handler: handler, onSynced: onSynced, synced: make(chan struct{}), done: make(chan struct{})}
	l.changed.L = &l.mu
	l.pending.compact = compact[notice[T]]
	return l
}

// push appends events, and after them the mark at which the listener is synced if initial is set. It returns how many
// notices were folded into others.
func (l *listener[T]) push(events []Event[T], initial bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return 0
	}
	l.pending.expect(len(events))
	folded := 0
	for _, e := range events {
		folded += l.pending.push(notice[T]{event: e})
	}
	if initial {
		l.pending.push(notice[T]{synced: true})
	}
	l.changed.Signal()
	return folded
}

// run delivers until stop.
func (l *listener[T]) run() {
	defer close(l.done)
	next := make([]notice[T], 0, 1)
	for {
		next = l.take(next[:0])
		if len(next) == 0 {
			return
		}
		l.deliver(next[0])
		clear(next)
	}
}

func (l *listener[T]) deliver(n notice[T]) {
	if n.synced {
		l.onSynced()
		close(l.synced)
		return
	}
	l.handler(n.event)
}

// take waits for the next notice and appends it to dst, or nothing after stop.
func (l *listener[T]) take(dst []notice[T]) []notice[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.pending.items) == 0 && !l.stopped {
		l.changed.Wait()
	}
	if l.stopped {
		return dst
	}
	return l.pending.take(dst, 1)
}

// stop ends run after the event that it is delivering. What waits is dropped.
func (l *listener[T]) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	l.pending.items = nil
	l.changed.Broadcast()
}

// insideHandler reports whether the caller was called by a handler, directly or not.
func insideHandler() bool {
	pcs := make([]uintptr, 64)
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		frames := runtime.CallersFrames(pcs[:n])
		for more := n > 0; more; {
			var frame runtime.Frame
			frame, more = frames.Next()
			if strings.HasSuffix(frame.Function, "/informer.(*listener[...]).deliver") {
				return true
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// notice is what a listener has to deliver: an event, or the mark at which it is synced.
type notice[T object.Object] struct {
	event  Event[T]
	synced bool
}

func (n notice[T]) slot() (object.Key, slotKind) {
	if n.synced {
		return object.Key{}, markSlot
	}
	return object.KeyOf(n.event.Object), edgeSlot
}

// fold relies on the events of a key being a sequence in which each one starts where the one before it ended: an Added
// is of an object that the handler does not have, so together with a Deleted it comes to nothing.
func (n notice[T]) fold(next notice[T]) (notice[T], folding) {
	switch {
	case n.event.Type == Deleted && next.event.Type == Deleted:
		return n, keepMerged
	case n.event.Type == Deleted:
		return n, keepBoth
	case next.event.Type != Deleted:
		n.event.Object = next.event.Object
		return n, keepMerged
	case n.event.Type == Added:
		return n, keepNone
	}
	return next, keepMerged
}
