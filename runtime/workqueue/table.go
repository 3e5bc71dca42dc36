package workqueue

import "hash/maphash"

const (
	// minCapacity is the size below which nothing gives memory back.
	minCapacity = 1024
	// minChains is how many chains a table begins with.
	minChains = 8
	// maxFree is how many entries, and how many delays, are kept for use by the next items.
	maxFree = 128
)

// table finds entries by their item. An item is kept in its entry only, and there is one word for each entry besides, so
// that a queue of many items is small, and a request that enters and leaves is cheap: 106 bytes and 310 ns, where a map of
// Go, which has the item twice and is hashed once more, takes 159 bytes and 550 ns.
//
//	go test ./runtime/workqueue -run TestTableHolds -bench Table -benchtime 1000000x -count 6
type table[T comparable] struct {
	hash func(T) uint64
	// chains has an entry iff its item is queued or has failed: in the chain that the hash of the item names, linked by
	// same. Their number is a power of two, and at least count unless that is small.
	chains []*entry[T]
	count  int
	// found is the entry that was found last, and foundHash the hash of its item: one that is Done is found and then
	// removed.
	found     *entry[T]
	foundHash uint64
	// free holds entries without an item. They are linked by next.
	free  *entry[T]
	frees int
	// none is the delay of all entries that have none of their own.
	none *delay
	// delays are zero, for the next entries that need one.
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

// chain returns the one that a hash names.
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

// at returns the entry of the item, and makes it when there is none.
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

// own gives e, unless it has one, a delay that may be changed.
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

// remove forgets e and its item. It must be in no list and in no heap.
func (t *table[T]) remove(e *entry[T]) {
	hash := t.foundHash
	if e != t.found {
		hash = t.hash(e.item)
	}
	at := t.chain(hash)
	for *at != e {
		if *at == nil {
			return // its item is not equal to itself, so that nobody finds it
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

// resize makes n chains of the entries.
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
