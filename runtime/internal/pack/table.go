package pack

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	// tableLongest is the length of the longest string in a table: longer ones seldom repeat.
	tableLongest = 64
	// tableEntries is how many strings a table has at most.
	tableEntries = 4096
	// tableCandidates is how many strings are watched at a time for whether they repeat. It is a power of two.
	tableCandidates = 1024
	// tableObjects is in how many objects a string must be seen to get into the table.
	tableObjects = 3
)

// table has the strings that repeat from object to object. It only grows, so the number of a string stays. Adding is for
// one goroutine at a time; reading is not restricted.
type table struct {
	entries    atomic.Pointer[[]entry]
	numbers    map[string]int // of the entries
	seed       maphash.Seed
	candidates []candidate
}

type entry struct {
	text  string
	boxed any // text
}

// candidate is a string that may repeat, by its hash.
type candidate struct {
	hash uint32
	last uint32 // the object in which it was seen last
	seen uint8  // in how many objects it was seen
}

func newTable() *table {
	t := &table{
		numbers:    make(map[string]int),
		seed:       maphash.MakeSeed(),
		candidates: make([]candidate, tableCandidates),
	}
	t.entries.Store(&[]entry{})
	return t
}

// all returns the entries. They are not changed any more.
func (t *table) all() []entry { return *t.entries.Load() }

// number returns the number of s, which is in that object, if it has one by now.
func (t *table) number(s string, object uint32) (int, bool) {
	if len(s) < 2 || len(s) > tableLongest {
		return 0, false
	}
	if n, ok := t.numbers[s]; ok {
		return n, true
	}
	if len(t.numbers) == tableEntries || !t.repeats(s, object) {
		return 0, false
	}
	s = strings.Clone(s)
	n := len(t.numbers)
	entries := append(t.all(), entry{text: s, boxed: s})
	t.entries.Store(&entries)
	t.numbers[s] = n
	return n, true
}

// repeats takes note of s in that object and reports whether it was in enough others.
func (t *table) repeats(s string, object uint32) bool {
	hash := maphash.String(t.seed, s)
	c := &t.candidates[hash%tableCandidates]
	if high := uint32(hash >> 32); c.seen == 0 || c.hash != high {
		*c = candidate{hash: high, last: object, seen: 1}
		return false
	}
	if c.last != object {
		c.last = object
		c.seen++
	}
	return c.seen >= tableObjects
}
