package workqueue

import "hash/maphash"

const (
	// minCapacity is the size below which a heap or table does not shrink.
	minCapacity = 1024
	// minChains is the initial number of chains.
	minChains = 8
	// maxFree is the maximum number of entries, and of delays, that are kept for reuse.
	maxFree = 128
)

// table finds entries by their item. Only the entry stores the item, and the table adds one word per entry. A queue of
// many items is therefore small, and a short-lived request is cheap: 106 bytes and 310 ns. A Go map stores the item
// twice and hashes it a second time: 159 bytes and 550 ns. Measure with:
//
//	go test ./runtime/workqueue -run TestTableHolds -bench Table -benchtime 1000000x -count 6
type table[T comparable] struct {
	hash func(T) uint64
	// chains has an entry if and only if its item is queued or has failed. The hash of the item selects the chain, and the
	// same fields link the entries of a chain. The number of chains is a power of two. It is at least count, unless count
	// is small.
	chains []*entry[T]
	count  int
	// found is the last entry found, and foundHash the hash of its item: Done finds an entry and then removes it.
	found     *entry[T]
	foundHash uint64
	// free has entries without an item, linked by their next fields.
	free  *entry[T]
	frees int
	// none is the delay that all entries without their own delay share.
	none *delay
	// delays are zero values for reuse.
	delays []*delay
}

func newTable[T comparable]() table[T] {
	seed := maphash.MakeSeed()
	return table[T]{
		hash:   func(item T) uint64 { return maphash.Comparable(seed, item) },
		chains: make([]*entry[T], minChains),
		none:   &delay{},
	}
}

func (t *table[T]) chain(hash uint64) **entry[T] { return &t.chains[hash&uint64(len(t.chains)-1)] }

// find returns the entry of the item, or nil.
func (t *table[T]) find(item T) *entry[T] {
	t.foundHash = t.hash(item)
	e := *t.chain(t.foundHash)
	for e != nil && e.item != item {
		e = e.same
	}
	t.found = e
	return e
}

// at returns the entry of the item, and creates it if necessary.
func (t *table[T]) at(item T) *entry[T] {
	if e := t.find(item); e != nil {
		return e
	}
	if t.count == len(t.chains) {
		t.resize(2 * len(t.chains))
	}
	e := t.free
	if e == nil {
		e = &entry[T]{delay: t.none}
	} else {
		t.free, e.next = e.next, nil
		t.frees--
	}
	e.item = item
	t.link(e, t.foundHash)
	t.count++
	return e
}

func (t *table[T]) link(e *entry[T], hash uint64) {
	chain := t.chain(hash)
	e.same, *chain = *chain, e
}

// own gives e a delay of its own, which may be changed, unless it already has one.
func (t *table[T]) own(e *entry[T]) {
	if e.delay != t.none {
		return
	}
	last := len(t.delays) - 1
	if last < 0 {
		e.delay = &delay{}
		return
	}
	e.delay, t.delays = t.delays[last], t.delays[:last]
}

// remove removes e, which must not be in a list or a heap.
func (t *table[T]) remove(e *entry[T]) {
	hash := t.foundHash
	if e != t.found {
		hash = t.hash(e.item)
	}
	at := t.chain(hash)
	for *at != e {
		if *at == nil {
			return // the item does not equal itself (NaN), so it cannot be found
		}
		at = &(*at).same
	}
	*at = e.same
	t.count--
	t.found = nil
	if e.delay != t.none && len(t.delays) < maxFree {
		*e.delay = delay{}
		t.delays = append(t.delays, e.delay)
	}
	*e = entry[T]{delay: t.none}
	if t.frees < maxFree {
		t.free, e.next = e, t.free
		t.frees++
	}
	if len(t.chains) > minCapacity && t.count <= len(t.chains)/8 {
		t.resize(len(t.chains) / 4)
	}
}

func (t *table[T]) resize(n int) {
	old := t.chains
	t.chains = make([]*entry[T], n)
	for _, e := range old {
		for e != nil {
			next := e.same
			t.link(e, t.hash(e.item))
			e = next
		}
	}
}
