package events

import "container/list"

// lru is a map of at most size entries. A new one takes the place of that which was not used for longest.
type lru[K comparable, V any] struct {
	size    int
	entries map[K]*list.Element // of pair[K, V]
	order   list.List           // the last used first
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, entries: map[K]*list.Element{}}
}

// get returns the value of key, and counts as a use.
func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := l.entries[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(pair[K, V]).value, true
}

// put sets the value of key, and returns the value that had to go for it, if one had.
func (l *lru[K, V]) put(key K, value V) (evicted V, ok bool) {
	if e, exists := l.entries[key]; exists {
		e.Value = pair[K, V]{key, value}
		l.order.MoveToFront(e)
		return evicted, false
	}
	if len(l.entries) >= l.size {
		evicted, ok = l.oldest()
		l.removeOldest()
	}
	l.entries[key] = l.order.PushFront(pair[K, V]{key, value})
	return evicted, ok
}

// oldest returns the value that was not used for longest.
func (l *lru[K, V]) oldest() (value V, ok bool) {
	e := l.order.Back()
	if e == nil {
		return value, false
	}
	return e.Value.(pair[K, V]).value, true
}

// removeOldest removes what oldest returns.
func (l *lru[K, V]) removeOldest() {
	if e := l.order.Back(); e != nil {
		delete(l.entries, l.order.Remove(e).(pair[K, V]).key)
	}
}
