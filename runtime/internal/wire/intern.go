package wire

import "hash/maphash"

const (
	// minSlots and maxSlots are how many strings a table keeps, at first and at most.
	minSlots = 64
	maxSlots = 1024
	// internLongest is the length of the longest string that is kept: longer ones seldom repeat.
	internLongest = 64
)

// interner keeps the strings that repeat, within an object and from object to object, so that each is allocated once.
// It is bounded: a string has one place that it can be in, and takes it from the one that is there. Those that repeat
// often are soon back. The zero value is ready for use.
type interner struct {
	seed  maphash.Seed
	slots []internSlot // their number is a power of two
	// displaced counts the strings that gave way since slots has its size.
	displaced int
}

type internSlot struct {
	text  string
	boxed any // text, once it was asked for as an any
}

// find returns the slot for b, with b in it. It is nil for a string that is not kept.
func (t *interner) find(b []byte) *internSlot {
	if len(b) > internLongest || len(b) == 0 {
		return nil
	}
	if t.slots == nil {
		t.seed, t.slots = maphash.MakeSeed(), make([]internSlot, minSlots)
	}
	slot := t.slot(maphash.Bytes(t.seed, b))
	if slot.text == string(b) {
		return slot
	}
	if slot.text != "" && t.crowded() {
		slot = t.slot(maphash.Bytes(t.seed, b))
	}
	slot.text, slot.boxed = string(b), nil
	return slot
}

func (t *interner) slot(hash uint64) *internSlot { return &t.slots[hash&uint64(len(t.slots)-1)] }

// crowded takes note of a string that gives way, and reports whether the table was made larger instead.
func (t *interner) crowded() bool {
	if t.displaced++; t.displaced < len(t.slots) || len(t.slots) == maxSlots {
		return false
	}
	old := t.slots
	t.slots, t.displaced = make([]internSlot, 4*len(old)), 0
	for _, slot := range old {
		if slot.text != "" {
			*t.slot(maphash.String(t.seed, slot.text)) = slot
		}
	}
	return true
}

// text returns b as a string.
func (t *interner) text(b []byte) string {
	if slot := t.find(b); slot != nil {
		return slot.text
	}
	return string(b)
}

// boxed returns b as a string in an interface.
func (t *interner) boxed(b []byte) any {
	slot := t.find(b)
	if slot == nil {
		return string(b)
	}
	if slot.boxed == nil {
		slot.boxed = slot.text
	}
	return slot.boxed
}
