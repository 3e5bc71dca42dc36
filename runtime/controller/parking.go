package controller

import (
	"sync"
	"time"
)

// parking defers requests until the caches have received the writes of their last reconcile, so that the next reconcile
// does not block a worker for that time. A request is deferred no longer than a read would wait.
type parking[R comparable] struct {
	// requeue is called, without a lock, for a parked request that is released.
	requeue func(request R, priority int)

	mu      sync.Mutex
	waiters map[R]*waiter
}

// unseenWrites are writes of a reconcile that the caches have not received yet. *writes.Tracked implements it.
type unseenWrites interface {
	Timeout() time.Duration
	WhenSeen(seen func()) bool
}

// waiter is a deferred request.
type waiter struct {
	timer    *time.Timer
	parked   bool // a worker has taken the request
	priority int  // the highest priority with which a worker has taken the request
}

func newParking[R comparable](requeue func(request R, priority int)) *parking[R] {
	return &parking[R]{requeue: requeue, waiters: map[R]*waiter{}}
}

// deferUntil defers the request until the caches have received the writes.
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
	// Called without the lock, because release acquires it, and is called at once if the caches already have the writes.
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
	// Called without the lock, because requeue adds to the queue. No other goroutine uses w, because it was removed.
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

// park reports whether the request is deferred. If it is, park calls priority and records the result.
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
