package informer

import (
	"sync/atomic"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// scopedHandler is one handler at all parts of a [Scoped] informer, which call it in turn.
type scopedHandler[T object.Object] struct {
	handler Handler[T]
	synced  *latch[*part[T]]
	turn    chan struct{} // holds a token while the handler is being called
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
		turn:    make(chan struct{}, 1),
		parts:   make(map[*part[T]]*Registration),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.parts {
		added.join(p)
	}
	if s.stage != ended {
		s.handlers[added] = struct{}{}
	}
	if s.stage == running {
		added.synced.arm()
	}
	return &Registration{synced: added.synced.done, remove: func() { s.removeHandler(added) }}
}

// join adds the handler to p.
func (h *scopedHandler[T]) join(p *part[T]) {
	onSynced := func() {}
	if h.synced.add(p) {
		onSynced = func() { h.synced.release(p) }
	}
	h.parts[p] = p.addHandler(h.call, onSynced)
}

// leave forgets p, whose informer is ending.
func (h *scopedHandler[T]) leave(p *part[T]) {
	delete(h.parts, p)
	h.synced.release(p)
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
	h.removed.Store(true)
	s.mu.Lock()
	delete(s.handlers, h)
	s.mu.Unlock()
	for _, reg := range h.parts { // which nobody changes any more
		reg.Remove()
	}
}
