package informer

import (
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// scopedHandler is one handler at all parts of a [Scoped] informer, which call it in turn.
type scopedHandler[T object.Object] struct {
	handler Handler[T]
	synced  *latch[*part[T]]
	turn    chan struct{}    // holds a token while the handler is being called
	done    *latch[*part[T]] // armed when it was removed, or the informer has ended
	removed atomic.Bool

	parts map[*part[T]]*Registration // guarded by the mutex of the informer
}

// AddHandler is [Informer.AddHandler] for all namespaces in scope, and for each that comes into scope. h is called for
// one event at a time, of whichever namespace. [Registration.Synced] is closed when h has seen what existed in the
// namespaces that were in scope until then.
func (s *Scoped[T]) AddHandler(h Handler[T]) *Registration {
	added := &scopedHandler[T]{
		handler: h,
		synced:  newLatch[*part[T]](),
		done:    newLatch[*part[T]](),
		turn:    make(chan struct{}, 1),
		parts:   make(map[*part[T]]*Registration),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		added.join(p)
	}
	if s.stage == ended {
		added.done.arm()
	} else {
		s.handlers[added] = struct{}{}
	}
	if s.stage == running {
		added.synced.arm()
	}
	return &Registration{synced: added.synced.done, done: added.done.done, remove: func() { s.removeHandler(added) }, err: added.err}
}

// join adds the handler to p.
func (h *scopedHandler[T]) join(p *part[T]) {
	onSynced := func() {}
	if h.synced.add(p) {
		onSynced = func() { h.synced.release(p) }
	}
	h.done.add(p)
	h.parts[p] = p.addHandler(h.call, onSynced, func() { h.done.release(p) })
}

// leave forgets p, which is not in scope any more.
func (h *scopedHandler[T]) leave(p *part[T]) {
	h.parts[p].Remove()
	delete(h.parts, p)
	h.synced.release(p)
}

// err returns why the handler will not be called again.
func (h *scopedHandler[T]) err() error {
	if h.removed.Load() {
		return ErrRemoved
	}
	return ErrEnded
}

// call calls the handler when no other part does.
func (h *scopedHandler[T]) call(e Event[T]) {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if !h.removed.Load() {
		h.handler(e)
	}
}

func (s *Scoped[T]) removeHandler(h *scopedHandler[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.handlers[h]; !ok {
		return
	}
	h.removed.Store(true)
	delete(s.handlers, h)
	for _, reg := range h.parts {
		reg.Remove()
	}
	h.done.arm()
}
