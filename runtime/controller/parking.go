package controller

import (
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/writes"
)

// parking defers requests until the caches have the writes of their last reconcile. Otherwise the next reconcile would
// block a worker for that time. A request is deferred no longer than a read would wait. parking belongs to this package
// because it depends on requests and priorities, and of package writes only on the two methods of unseenWrites.
type parking[R comparable] struct {
	// requeue is called, without a lock, for a parked request that is released.
	requeue func(request R, priority int)

	mu      sync.Mutex
	waiters map[R]*waiter
}

// unseenWrites are writes of a reconcile that the caches do not have yet. *[writes.Tracked] implements it.
type unseenWrites interface {
	Timeout() time.Duration
	WhenSeen(seen func()) bool
}

var _ unseenWrites = (*writes.Tracked)(nil)

// waiter is a deferred request.
type waiter struct {
	timer    *time.Timer
	parked   bool // a worker has taken it
	priority int  // the highest priority with which a worker has taken it
}

func newParking[R comparable](requeue func(request R, priority int)) *parking[R] {
	return &parking[R]{requeue: requeue, waiters: map[R]*waiter{}}
}

// deferUntil defers the request until the caches have the writes.
func (p *parking[R]) deferUntil(request R, unseen unseenWrites) {
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
	// Called without the lock: if the caches have the writes already, WhenSeen calls release.
	if !unseen.WhenSeen(func() { p.release(request, w) }) {
		p.release(request, w)
	}
}

// release ends the wait of a request, unless it waits for later writes.
func (p *parking[R]) release(request R, w *waiter) {
	p.mu.Lock()
	current := p.waiters[request] == w
	if current {
		p.dropLocked(request)
	}
	p.mu.Unlock()
	// Called without the lock, since it adds to the queue. w was dropped, so no other goroutine has it.
	if current && w.parked {
		p.requeue(request, w.priority)
	}
}

func (p *parking[R]) dropLocked(request R) {
	if w, ok := p.waiters[request]; ok {
		w.timer.Stop()
		delete(p.waiters, request)
	}
}

// park reports whether the request is deferred. It calls priority only then.
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

// close drops all waiters without requeuing them.
func (p *parking[R]) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for request := range p.waiters {
		p.dropLocked(request)
	}
}
