package informer

import "sync"

// latch closes done when it is armed and everything that was added to it was released. From then on it stays closed.
type latch[K comparable] struct {
	done chan struct{}

	mu      sync.Mutex
	awaited map[K]struct{}
	armed   bool
	closed  bool
}

func newLatch[K comparable]() *latch[K] {
	return &latch[K]{done: make(chan struct{}), awaited: make(map[K]struct{})}
}

// add makes the latch wait for k too, and reports whether it was not too late for that.
func (l *latch[K]) add(k K) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.awaited[k] = struct{}{}
	}
	return !l.closed
}

// release says that k has come, or will not.
func (l *latch[K]) release(k K) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awaited, k)
	l.closeIfDoneLocked()
}

// arm says that all that the latch has to wait for at first was added.
func (l *latch[K]) arm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = true
	l.closeIfDoneLocked()
}

func (l *latch[K]) closeIfDoneLocked() {
	if l.armed && len(l.awaited) == 0 && !l.closed {
		l.closed = true
		close(l.done)
	}
}
