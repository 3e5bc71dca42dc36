package informer

import (
	"iter"
	"sync"
	"time"
)

// ExpiringStore holds values for a fixed time after they were set. What has expired is never returned, and is removed by
// later calls of any method, so a store holds no more than was set within about the last TTL. It starts no goroutine and
// is safe for concurrent use. Use [NewExpiringStore].
type ExpiringStore[K comparable, V any] struct {
	ttl time.Duration

	mu    sync.Mutex
	items map[K]expiring[V]
	order []deadline[K] // when each value was set, oldest first; may have entries for values that were set again or deleted
}

type expiring[V any] struct {
	value V
	until time.Time
}

type deadline[K comparable] struct {
	key   K
	until time.Time
}

// NewExpiringStore returns an empty store in which a value lasts for ttl.
func NewExpiringStore[K comparable, V any](ttl time.Duration) *ExpiringStore[K, V] {
	return &ExpiringStore[K, V]{ttl: ttl, items: make(map[K]expiring[V])}
}

// Set makes value the value of key, for another full time if there is one.
func (s *ExpiringStore[K, V]) Set(key K, value V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked()
	until := time.Now().Add(s.ttl)
	s.items[key] = expiring[V]{value: value, until: until}
	s.order = append(s.order, deadline[K]{key: key, until: until})
	if len(s.order) > 2*len(s.items)+16 {
		s.tidyLocked()
	}
}

// Get returns the value of key. Reading does not make it last longer.
func (s *ExpiringStore[K, V]) Get(key K) (V, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked()
	item, ok := s.items[key]
	return item.value, ok
}

// Delete removes the value of key, if there is one.
func (s *ExpiringStore[K, V]) Delete(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, key)
	s.expireLocked()
}

// Len returns the number of values.
func (s *ExpiringStore[K, V]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expireLocked()
	return len(s.items)
}

// All returns an iterator over the values that have not expired when the iteration begins, those that were set longest
// ago first. It holds no lock while it yields.
func (s *ExpiringStore[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		s.mu.Lock()
		s.expireLocked()
		s.tidyLocked()
		keys := make([]K, len(s.order))
		values := make([]V, len(s.order))
		for i, d := range s.order {
			keys[i], values[i] = d.key, s.items[d.key].value
		}
		s.mu.Unlock()
		for i, key := range keys {
			if !yield(key, values[i]) {
				return
			}
		}
	}
}

// expireLocked removes what has expired. All values last equally long, so they expire in the order in which they were set.
func (s *ExpiringStore[K, V]) expireLocked() {
	now := time.Now()
	n := 0
	for ; n < len(s.order) && !now.Before(s.order[n].until); n++ {
		if d := s.order[n]; s.currentLocked(d) {
			delete(s.items, d.key)
		}
	}
	clear(s.order[:n])
	s.order = s.order[n:]
}

// tidyLocked leaves one deadline for each value.
func (s *ExpiringStore[K, V]) tidyLocked() {
	kept := make([]deadline[K], 0, len(s.items))
	seen := make(map[K]bool, len(s.items))
	for _, d := range s.order {
		if s.currentLocked(d) && !seen[d.key] {
			kept, seen[d.key] = append(kept, d), true
		}
	}
	s.order = kept
}

// currentLocked reports whether d is the deadline of a value, and not of one before that.
func (s *ExpiringStore[K, V]) currentLocked(d deadline[K]) bool {
	item, ok := s.items[d.key]
	return ok && item.until.Equal(d.until)
}
