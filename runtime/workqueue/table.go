package workqueue

const (
	// minCapacity is the size below which nothing gives memory back.
	minCapacity = 1024
	// maxFree is how many entries are kept for use by the next items.
	maxFree = 128
)

// table finds entries by their item.
type table[T comparable] struct {
	// entries has an entry iff its item is queued or has failed.
	entries map[T]*entry[T]
	// peak is the largest size of entries since it was made: a map never gives memory back, so that one which was
	// much larger than it is now is made anew.
	peak int
	// free holds zero entries. They are linked by next.
	free  *entry[T]
	frees int
}

func newTable[T comparable]() table[T] { return table[T]{entries: map[T]*entry[T]{}} }

// find returns the entry of the item, or nil.
func (t *table[T]) find(item T) *entry[T] { return t.entries[item] }

// at returns the entry of the item, and makes it when there is none.
func (t *table[T]) at(item T) *entry[T] {
	if e, ok := t.entries[item]; ok {
		return e
	}
	e := t.free
	if e == nil {
		e = &entry[T]{}
	} else {
		t.free, e.next = e.next, nil
		t.frees--
	}
	e.item = item
	t.entries[item] = e
	t.peak = max(t.peak, len(t.entries))
	return e
}

// remove forgets e and its item. It must be in no list and in no heap.
func (t *table[T]) remove(e *entry[T]) {
	delete(t.entries, e.item)
	*e = entry[T]{}
	if t.frees < maxFree {
		t.free, e.next = e, t.free
		t.frees++
	}
	if t.peak > minCapacity && len(t.entries) <= t.peak/8 {
		t.rebuild()
	}
}

// rebuild makes a map of the size that is needed.
func (t *table[T]) rebuild() {
	entries := make(map[T]*entry[T], len(t.entries))
	for item, e := range t.entries {
		entries[item] = e
	}
	t.entries, t.peak = entries, len(entries)
}
