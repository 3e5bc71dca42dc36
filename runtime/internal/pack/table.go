package pack

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	// tableLongest is the maximum length of a string in a table: longer strings seldom repeat.
	tableLongest = 64
	// tableEntries is the maximum number of strings in a table.
	tableEntries = 4096
	// tableCandidates is the number of strings observed for repetition at the same time, a power of two.
	tableCandidates = 1024
	// tableObjects is the number of objects that must contain a string before the string enters the table.
	tableObjects = 3
)

// table holds strings that repeat across objects. It only grows, so the index of a string is stable. Reads are safe for
// concurrent use; additions are not.
type table struct {
	entries    atomic.Pointer[[]entry]
	numbers    map[string]int // index by entry
	seed       maphash.Seed
	candidates []candidate
}

type entry struct {
	text  string
	boxed any // text as an interface value
}

// candidate is a string that may repeat, identified by its hash.
type candidate struct {
	hash uint32
	last uint32 // the last object that contains it
	seen uint8  // the number of objects that contain it
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

// all returns the entries, which are immutable.
func (t *table) all() []entry { return *t.entries.Load() }

// number returns the index of s, which occurs in that object, if it is in the table.
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

// repeats records that the object contains s, and reports whether s has occurred in enough objects.
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
