package controller

import (
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/journal"
)

// parking holds back requests whose last reconcile wrote what the caches have not seen yet: a reconcile now would wait for
// that, and keep a worker from others meanwhile. It has a request for as long as that is so, but no longer than a read
// would wait.
type parking[R comparable] struct {
	// open is called, without a lock, for a parked request that need not wait any longer.
	open func(request R, priority int)

	mu   sync.Mutex
	held map[R]*held
}

// writes are what a reconcile wrote. *[journal.Writes] are some.
type writes interface {
	Timeout() time.Duration
	WhenSeen(seen func()) bool
}

var _ writes = (*journal.Writes)(nil)

// held is a request that has to wait if it is asked for.
type held struct {
	timer    *time.Timer
	parked   bool // it was asked for
	priority int  // with which it was asked for
}

func newParking[R comparable](open func(request R, priority int)) *parking[R] {
	return &parking[R]{open: open, held: map[R]*held{}}
}

// hold lets the request wait for w.
func (p *parking[R]) hold(request R, w writes) {
	timeout := w.Timeout()
	if timeout == 0 {
		return
	}
	h := &held{}
	p.mu.Lock()
	p.dropLocked(request)
	h.timer = time.AfterFunc(timeout, func() { p.release(request, h) })
	p.held[request] = h
	p.mu.Unlock()
	if !w.WhenSeen(func() { p.release(request, h) }) {
		p.release(request, h)
	}
}

// release lets the request go, unless it is held for another reason by now.
func (p *parking[R]) release(request R, h *held) {
	p.mu.Lock()
	current := p.held[request] == h
	if current {
		p.dropLocked(request)
	}
	p.mu.Unlock()
	if current && h.parked {
		p.open(request, h.priority)
	}
}

func (p *parking[R]) dropLocked(request R) {
	if h, ok := p.held[request]; ok {
		h.timer.Stop()
		delete(p.held, request)
	}
}

// park reports whether the request has to wait. The priority with which it was asked for is taken only if it has.
func (p *parking[R]) park(request R, priority func(R) int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	h, ok := p.held[request]
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
func (p *parking[R]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for request := range p.held {
		p.dropLocked(request)
	}
}
