package controller

import (
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/cache"
)

// gate holds back requests whose last reconcile wrote what the caches have not seen yet: a reconcile now would wait for
// that, and keep a worker from others meanwhile. It has a request for as long as that is so, but no longer than a read
// would wait.
type gate[R comparable] struct {
	// open is called, without a lock, for a parked request that need not wait any longer.
	open func(request R, priority int)

	mu   sync.Mutex
	held map[R]*held
}

// writes are what a reconcile wrote. *[cache.Writes] are some.
type writes interface {
	Timeout() time.Duration
	WhenSeen(seen func()) bool
}

var _ writes = (*cache.Writes)(nil)

// held is a request that has to wait if it is asked for.
type held struct {
	timer    *time.Timer
	parked   bool // it was asked for
	priority int  // with which it was asked for
}

func newGate[R comparable](open func(request R, priority int)) *gate[R] {
	return &gate[R]{open: open, held: map[R]*held{}}
}

// hold lets the request wait for w.
func (g *gate[R]) hold(request R, w writes) {
	timeout := w.Timeout()
	if timeout == 0 {
		return
	}
	h := &held{}
	g.mu.Lock()
	g.dropLocked(request)
	h.timer = time.AfterFunc(timeout, func() { g.release(request, h) })
	g.held[request] = h
	g.mu.Unlock()
	if !w.WhenSeen(func() { g.release(request, h) }) {
		g.release(request, h)
	}
}

// release lets the request go, unless it is held for another reason by now.
func (g *gate[R]) release(request R, h *held) {
	g.mu.Lock()
	current := g.held[request] == h
	if current {
		g.dropLocked(request)
	}
	g.mu.Unlock()
	if current && h.parked {
		g.open(request, h.priority)
	}
}

func (g *gate[R]) dropLocked(request R) {
	if h, ok := g.held[request]; ok {
		h.timer.Stop()
		delete(g.held, request)
	}
}

// park reports whether the request has to wait. The priority with which it was asked for is taken only if it has.
func (g *gate[R]) park(request R, priority func(R) int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h, ok := g.held[request]
	if !ok {
		return false
	}
	asked := priority(request)
	if h.parked {
		asked = max(asked, h.priority)
	}
	h.parked, h.priority = true, asked
	return true
}

// close lets all requests go that are held, and opens for none.
func (g *gate[R]) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for request := range g.held {
		g.dropLocked(request)
	}
}
