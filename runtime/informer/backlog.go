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

// take removes the first n edges and returns them.
func (b *backlog[E]) take(n int) []E {
	if n == len(b.items) {
		taken := b.items
		b.items, b.limit = nil, 0
		return taken
	}
	taken := slices.Clone(b.items[:n])
	clear(b.items[:n])
	b.items = b.items[n:]
	return taken
}
