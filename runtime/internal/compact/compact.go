// Package compact folds changes that wait for a slow consumer, so that a buffer is bounded by the number of objects and
// not by the number of changes.
package compact

import "github.com/kctrl-dev/kctrl/runtime/object"

// Slot is where a change that waits belongs, an edge from one state to the next.
type Slot int

// The slots of edges.
const (
	Key     Slot = iota // belongs to one key and may be folded
	Mark                // belongs to no key; edges may be folded across it
	Barrier             // belongs to no key; no edge is folded across it
)

// Folding is the outcome of two successive edges of one key.
type Folding int

// The outcomes.
const (
	Both   Folding = iota // two edges, such as a deletion and a new creation
	Merged                // one edge replaces both, in the place of the earlier
	None                  // they cancel out
)

// Fold returns pending with the edges of each key folded as far as they go, which leaves at most two of a key between
// two barriers. Order is kept; a merged edge stands where the earlier one stood. slot returns the key of an edge and
// how to treat it, and fold what two edges come to, of which the first result counts for Merged.
func Fold[E any](pending []E, slot func(E) (object.Key, Slot), fold func(earlier, later E) (E, Folding)) []E {
	out := make([]E, 0, len(pending))
	gone := make([]bool, 0, len(pending))
	open := make(map[object.Key][]int) // the edges of a key that later ones may be folded into, as indexes of out
	for _, e := range pending {
		out, gone = append(out, e), append(gone, false)
		key, kind := slot(e)
		switch kind {
		case Mark:
			continue
		case Barrier:
			// What came before a whole state and what comes after it are not of one life.
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

// foldLast folds the last edges of one key, whose indexes in out are stack, until they stay apart.
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
			// The edge before those may now fold with what comes next.
			stack = stack[:top-1]
		}
	}
	return stack
}

// above is how many edges may wait before they are folded: up to here everything is delivered as it came.
const above = 256

// aboveBytes is how many bytes may wait before they are folded.
const aboveBytes = 4 << 20

// Bound limits how many edges, and how many bytes, wait in a buffer before the buffer folds them. Both limits are twice
// what the last folding left, so that a buffer never holds more than twice what its objects need, and a push costs O(1)
// on average. The zero value allows 256 edges and 4 MiB, and a bound is never less.
type Bound struct {
	limit int
	bytes int // that wait, of the edges whose size is known
	most  int
}

// Add counts the bytes of an edge that waits, or with a negative number of one that no longer does.
func (b *Bound) Add(bytes int) { b.bytes += bytes }

// IsPassed reports whether too many edges, or bytes, wait.
func (b Bound) IsPassed(waiting int) bool {
	return waiting > max(b.limit, above) || b.bytes > max(b.most, aboveBytes)
}

// Leave makes room for as many edges and bytes again as a folding has left.
func (b *Bound) Leave(left, bytes int) { *b = Bound{limit: 2 * left, bytes: bytes, most: 2 * bytes} }

// Grow makes room for at least that many edges.
func (b *Bound) Grow(limit int) { b.limit = max(b.limit, limit) }
