package informer

import "github.com/kctrl-dev/kctrl/runtime/object"

// edge is a change that waits, in a [DeltaFIFO] for the store or in an outbox for a handler. Both keep within their bounds
// in the same way, by compact.
type edge[E any] interface {
	// slot returns the key of the object that changed, and how compact treats the edge.
	slot() (object.Key, slotKind)
	// fold says what the receiver and a later edge of the same key come to. The first result counts for keepMerged.
	fold(next E) (E, folding)
}

type slotKind int

const (
	edgeSlot    slotKind = iota // belongs to one key and may be folded
	markSlot                    // belongs to no key; edges may be folded across it
	barrierSlot                 // belongs to no key; no edge is folded across it
)

type folding int

const (
	keepBoth   folding = iota // two edges, such as a deletion and a new creation
	keepMerged                // one edge stands for both, in the place of the earlier
	keepNone                  // they cancel out
)

// compact returns pending with the edges of each key folded as far as they go, which leaves at most two of a key
// between two barriers. Order is kept; a merged edge stands where the earlier one stood.
func compact[E edge[E]](pending []E) []E {
	out := make([]E, 0, len(pending))
	gone := make([]bool, 0, len(pending))
	open := make(map[object.Key][]int) // the edges of a key that later ones may be folded into, as indexes of out
	for _, e := range pending {
		out, gone = append(out, e), append(gone, false)
		key, kind := e.slot()
		switch kind {
		case markSlot:
			continue
		case barrierSlot:
			// What came before a whole state and what comes after it are not of one life.
			clear(open)
			continue
		}
		open[key] = foldLast(out, gone, append(open[key], len(out)-1))
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
func foldLast[E edge[E]](out []E, gone []bool, stack []int) []int {
	for len(stack) >= 2 {
		top := len(stack) - 1
		earlier, later := stack[top-1], stack[top]
		merged, result := out[earlier].fold(out[later])
		switch result {
		case keepBoth:
			return stack
		case keepMerged:
			out[earlier], gone[later] = merged, true
			stack = stack[:top]
		case keepNone:
			gone[earlier], gone[later] = true, true
			// The edge before those may now fold with what comes next.
			stack = stack[:top-1]
		}
	}
	return stack
}

// compactAbove is how many edges may wait before they are compacted: up to here everything is delivered as it came.
const compactAbove = 256

// bound is how many edges may wait in a buffer: when more do it compacts itself. That is twice what it came to the last time, so
// that it never holds more than twice what its objects need, and a push costs O(1) on average. The zero value is compactAbove,
// and it is never less.
type bound struct{ limit int }

func (b bound) isPassed(waiting int) bool { return waiting > max(b.limit, compactAbove) }

// leave makes room for as many edges again as there are.
func (b *bound) leave(waiting int) { b.limit = 2 * waiting }
