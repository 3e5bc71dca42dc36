package controller

import (
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
)

// parking holds back requests whose last reconcile wrote what the caches have not seen yet: a reconcile now would wait for
// that, and keep a worker from others meanwhile. It has a request for as long as that is so, but no longer than a read
// would wait.
type parking[R comparable] struct {
	// open is called, without a lock, for a parked request that need not wait any longer.
	open func(request R, priority int)

	mu      sync.Mutex
	waiters map[R]*waiter
}

// unseenWrites are writes of a reconcile that the caches have yet to see, such as a *[writes.Tracked].
type unseenWrites interface {
	Timeout() time.Duration
	WhenSeen(seen func()) bool
}

var _ unseenWrites = (*writes.Tracked)(nil)

// waiter is a request that has to wait if it is asked for.
type waiter struct {
	timer    *time.Timer
	parked   bool // it was asked for
	priority int  // with which it was asked for
}

func newParking[R comparable](open func(request R, priority int)) *parking[R] {
	return &parking[R]{open: open, waiters: map[R]*waiter{}}
}

// hold lets the request wait for what is unseen.
func (p *parking[R]) hold(request R, unseen unseenWrites) {
	timeout := unseen.Timeout()
	if timeout == 0 {
		return
	}
	w := &waiter{}
	p.mu.Lock()
	p.dropLocked(request)
	w.timer = time.AfterFunc(timeout, func() { p.release(request, w) })
	p.waiters[request] = w
	p.mu.Unlock()
	// Without the lock: they may be seen already, and then release is called from here.
	if !unseen.WhenSeen(func() { p.release(request, w) }) {
		p.release(request, w)
	}
}

// release lets the request go, unless it waits for something else by now.
func (p *parking[R]) release(request R, w *waiter) {
	p.mu.Lock()
	current := p.waiters[request] == w
	if current {
		p.dropLocked(request)
	}
	p.mu.Unlock()
	// Without the lock, since it adds to the queue. Nobody else has w: it was dropped.
	if current && w.parked {
		p.open(request, w.priority)
	}
}

func (p *parking[R]) dropLocked(request R) {
	if w, ok := p.waiters[request]; ok {
		w.timer.Stop()
		delete(p.waiters, request)
	}
}

// park reports whether the request has to wait. The priority with which it was asked for is taken only if it has.
func (p *parking[R]) park(request R, priority func(R) int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, ok := p.waiters[request]
	if !ok {
		return false
	}
	asked := priority(request)
	if w.parked {
		asked = max(asked, w.priority)
	}
	w.parked, w.priority = true, asked
	return true
}

// close lets all waiters go, and opens for none.
func (p *parking[R]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for request := range p.waiters {
		p.dropLocked(request)
	}
}
