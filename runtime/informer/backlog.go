package informer

import "slices"

// compactAbove is how many edges may wait before they are compacted: up to here everything is delivered as it came.
const compactAbove = 256

// backlog is a first-in-first-out buffer of edges that compacts itself when it has doubled since it last did. So it
// holds at most twice what compacting leaves, and a push costs O(1) on average. It is guarded by its owner.
type backlog[E edge[E]] struct {
	compact func([]E) []E
	items   []E
	limit   int // compact when more than limit wait; 0 is compactAbove
}

// expect prepares for n edges that are pushed together. They are probably of different keys, so compacting them on the
// way would be of no use.
func (b *backlog[E]) expect(n int) {
	b.limit = max(b.limit, 2*n)
	b.items = slices.Grow(b.items, n)
}

// push appends e and returns by how many edges the backlog was compacted.
func (b *backlog[E]) push(e E) int {
	b.items = append(b.items, e)
	if len(b.items) <= max(b.limit, compactAbove) {
		return 0
	}
	before := len(b.items)
	b.items = b.compact(b.items)
	b.limit = 2 * len(b.items)
	return before - len(b.items)
}

// take removes the first n edges and appends them to dst.
func (b *backlog[E]) take(dst []E, n int) []E {
	dst = append(dst, b.items[:n]...)
	clear(b.items[:n])
	b.items = b.items[n:]
	if len(b.items) == 0 {
		b.items, b.limit = nil, 0
	}
	return dst
}
