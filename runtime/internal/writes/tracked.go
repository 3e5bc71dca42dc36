package writes

import (
	"context"
	"sync"
	"time"
)

// Tracked collects the writes of one context that the caches did not have when the writes were made. It is safe for
// concurrent use. A nil *Tracked ignores writes.
type Tracked struct {
	mu      sync.Mutex
	unseen  []func(seen func()) (waits bool)
	timeout time.Duration
}

type trackedKey struct{}

// Track returns a context whose writes are collected in writes, by all consistent caches that receive them.
func Track(ctx context.Context) (tracking context.Context, writes *Tracked) {
	writes = &Tracked{}
	return context.WithValue(ctx, trackedKey{}, writes), writes
}

// TrackedIn returns the Tracked of ctx, or nil.
func TrackedIn(ctx context.Context) *Tracked {
	writes, _ := ctx.Value(trackedKey{}).(*Tracked)
	return writes
}

// Add adds a write that a cache does not have yet, and for which a read would wait up to timeout. await calls seen once
// the cache has the write. If the cache already has it, await returns false.
func (w *Tracked) Add(timeout time.Duration, await func(seen func()) (waits bool)) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timeout = max(w.timeout, timeout)
	w.unseen = append(w.unseen, await)
}

// WhenSeen calls seen once, when the caches have all writes so far. seen must not block. If the caches already have
// them, WhenSeen returns false and does not call seen.
func (w *Tracked) WhenSeen(seen func()) bool {
	w.mu.Lock()
	unseen := w.unseen
	w.unseen = nil
	w.mu.Unlock()
	return awaitAll(unseen, seen)
}

// awaitAll calls seen when the caches have all writes of unseen. It returns false if they already have them.
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

// Timeout returns how long a read would wait for the writes.
func (w *Tracked) Timeout() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.timeout
}
