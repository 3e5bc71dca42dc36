// Package compact folds changes that wait for a slow consumer, so that the size of a buffer is bounded by the number of
// objects and not by the number of changes.
package compact

import "github.com/kctrl-dev/kctrl/runtime/object"

// Slot is the position of a waiting change, which is an edge from one state to the next.
type Slot int

// Slots of edges.
const (
	Key     Slot = iota // belongs to one key and may be folded
	Mark                // belongs to no key; edges may be folded across it
	Barrier             // belongs to no key; no edge is folded across it
)

// Folding is the result of combining two successive edges of the same key.
type Folding int

// Outcomes of Fold.
const (
	Both   Folding = iota // both edges remain, such as a deletion and a new creation
	Merged                // one edge replaces both, at the position of the earlier
	None                  // they cancel each other out
)

// Fold returns pending with the edges of each key folded as far as possible, so that at most two edges per key remain
// between two barriers. It keeps the order: a merged edge has the position of the earlier edge. slot returns the key
// and the slot of an edge. fold combines two edges. Its first result is used only for Merged.
func Fold[E any](pending []E, slot func(E) (object.Key, Slot), fold func(earlier, later E) (E, Folding)) []E {
	out := make([]E, 0, len(pending))
	gone := make([]bool, 0, len(pending))
	open := make(map[object.Key][]int) // indexes in out, by key, of edges into which later edges may be folded
	for _, e := range pending {
		out, gone = append(out, e), append(gone, false)
		key, kind := slot(e)
		switch kind {
		case Mark:
			continue
		case Barrier:
			// Changes before and after a complete list must not be folded together.
			clear(open)
			continue
		}
		open[key] = foldLast(out, gone, append(open[key], len(out)-1), fold)
	}
	kept := out[:0]
	for i, e := range out {
		if !gone[i] {
			kept = append(kept, e)
		}
	}
	clear(out[len(kept):])
	return kept
}

// foldLast folds the last two edges of one key as often as possible. stack has the indexes in out of the key's edges.
func foldLast[E any](out []E, gone []bool, stack []int, fold func(earlier, later E) (E, Folding)) []int {
	for len(stack) >= 2 {
		top := len(stack) - 1
		earlier, later := stack[top-1], stack[top]
		merged, result := fold(out[earlier], out[later])
		switch result {
		case Both:
			return stack
		case Merged:
			out[earlier], gone[later] = merged, true
			stack = stack[:top]
		case None:
			gone[earlier], gone[later] = true, true
			// The previous edge may now be folded with the next one.
			stack = stack[:top-1]
		}
	}
	return stack
}

// above is the number of edges that may wait without being folded.
const above = 256

// aboveBytes is the number of bytes that may wait without being folded.
const aboveBytes = 4 << 20

// Bound limits the number of edges and bytes that wait in a buffer before the buffer folds them. Both limits are twice
// the result of the last folding. The buffer therefore has at most twice the size of its objects, and a push costs O(1)
// on average. The zero value permits 256 edges and 4 MiB, which are also the minimum.
type Bound struct {
	limit int
	bytes int // size of the waiting edges whose size is known
	most  int
}

// Add adds the size of an edge that waits. A negative size is for an edge that no longer waits.
func (b *Bound) Add(bytes int) { b.bytes += bytes }

// IsPassed reports whether the limit of edges or of bytes is exceeded.
func (b Bound) IsPassed(waiting int) bool {
	return waiting > max(b.limit, above) || b.bytes > max(b.most, aboveBytes)
}

// Leave sets the limits to twice the result of a folding.
func (b *Bound) Leave(left, bytes int) { *b = Bound{limit: 2 * left, bytes: bytes, most: 2 * bytes} }

// Grow raises the limit of edges to at least limit.
func (b *Bound) Grow(limit int) { b.limit = max(b.limit, limit) }
