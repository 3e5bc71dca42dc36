package writes

import (
	"context"
	"sync"
	"time"
)

// Tracked are the writes that were made with one context and that the caches had not caught up with when they were
// made. All methods are safe for concurrent use. A nil *Tracked takes none.
type Tracked struct {
	mu      sync.Mutex
	unseen  []func(seen func()) (waits bool)
	timeout time.Duration
}

type trackedKey struct{}

// Track returns a context whose writes are collected in writes, by all consistent caches that are told of them.
func Track(ctx context.Context) (tracking context.Context, writes *Tracked) {
	writes = &Tracked{}
	return context.WithValue(ctx, trackedKey{}, writes), writes
}

// TrackedIn returns what the writes of ctx are collected in, or nil.
func TrackedIn(ctx context.Context) *Tracked {
	writes, _ := ctx.Value(trackedKey{}).(*Tracked)
	return writes
}

// Add adds a write that a cache has to catch up with, for which a read would wait for timeout. await lets seen be
// called once it has, or returns false when it has already.
func (w *Tracked) Add(timeout time.Duration, await func(seen func()) (waits bool)) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeout = max(w.timeout, timeout)
	w.unseen = append(w.unseen, await)
}

// WhenSeen lets seen be called once, when the caches have caught up with the writes that were made until now. It must
// not block. When they have already, WhenSeen returns false and seen is not called.
func (w *Tracked) WhenSeen(seen func()) bool {
	w.mu.Lock()
	unseen := w.unseen
	w.unseen = nil
	w.mu.Unlock()
	return awaitAll(unseen, seen)
}

// awaitAll lets seen be called after the last of unseen. It returns false when there is nothing to wait for.
func awaitAll(unseen []func(seen func()) bool, seen func()) bool {
	for n, await := range unseen {
		next := func() {
			if !awaitAll(unseen[n+1:], seen) {
				seen()
			}
		}
		if await(next) {
			return true
		}
	}
	return false
}

// Timeout is how long a read would wait for the writes.
func (w *Tracked) Timeout() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timeout
}
