package wire

import "hash/maphash"

const (
	// minSlots and maxSlots are how many strings a table can keep, at first and at most.
	minSlots = 256
	maxSlots = 4096
	// internLongest is the length of the longest string that is kept: longer ones seldom repeat.
	internLongest = 64
)

// interner keeps the strings that repeat, so that each is allocated once. It is bounded: a string has one place that it
// can be in, and gives way to another one that repeats. A string that is seen for the first time is only remembered by
// its hash, so those that never repeat displace nothing. The zero value is ready for use.
type interner struct {
	seed  maphash.Seed
	slots []internSlot // their number is a power of two
	// displaced counts the strings that gave way since slots has its size.
	displaced int
}

type internSlot struct {
	text  string
	hash  uint64 // of text
	boxed any    // text, once it was asked for as an any
	seen  uint32 // part of the hash of the string that was seen here last
}

// find returns the slot for b, with b in it. It is nil for a string that is not kept.
func (t *interner) find(b []byte) *internSlot {
	if len(b) > internLongest || len(b) == 0 {
		return nil
	}
	if t.slots == nil {
		t.seed, t.slots = maphash.MakeSeed(), make([]internSlot, minSlots)
	}
	hash := maphash.Bytes(t.seed, b)
	slot := &t.slots[hash&uint64(len(t.slots)-1)]
	if slot.text == string(b) {
		return slot
	}
	if seen := uint32(hash >> 32); slot.seen != seen {
		slot.seen = seen
		return nil
	}
	if slot.text != "" && t.crowded() {
		slot = &t.slots[hash&uint64(len(t.slots)-1)]
	}
	slot.text, slot.hash, slot.boxed = string(b), hash, nil
	return slot
}

// crowded takes note of a string that gives way, and reports whether the table was made larger instead.
func (t *interner) crowded() bool {
	if t.displaced++; t.displaced < len(t.slots)/4 || len(t.slots) == maxSlots {
		return false
	}
	old := t.slots
	t.slots, t.displaced = make([]internSlot, 4*len(old)), 0
	for _, slot := range old {
		if slot.text != "" {
			t.slots[slot.hash&uint64(len(t.slots)-1)] = slot
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
