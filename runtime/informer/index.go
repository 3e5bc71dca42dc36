package informer

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Index finds objects by values of type K that a function derives from them. An Index can be added to several
// informers, at any time; adding it twice to one informer does nothing. It has no content of its own: the store of each
// informer keeps the content of the index up to date with its objects. An Index is safe for concurrent use.
type Index[T object.Object, K cmp.Ordered] struct {
	values func(T) []K
}

// Indexer is an *[Index] with any type K.
type Indexer[T object.Object] interface {
	table() table[T]
}

// NewIndex returns an index of objects by the results of values. An object for which values returns nothing is not in
// the index. The function must depend only on the object and must not read the store. The store calls it during
// changes, and calls it a second time with the same object when that object is replaced.
func NewIndex[T object.Object, K cmp.Ordered](values func(T) []K) *Index[T, K] {
	return &Index[T, K]{values: values}
}

// Get returns the objects of view with that value, in no order. It panics if the informer of view lacks the index.
func (ix *Index[T, K]) Get(view View[T], value K) []T { return slices.Collect(ix.All(view, value)) }

// All returns an iterator over the objects of view with that value, in no order. The iterator has the state at the time
// of the call and holds no lock. Packed objects are unpacked one by one. All panics as [Index.Get] does.
func (ix *Index[T, K]) All(view View[T], value K) iter.Seq[T] {
	var found []iter.Seq[T]
	for _, s := range view.stores("") {
		found = append(found, ix.with(s.contents, value))
	}
	return func(yield func(T) bool) {
		for _, objects := range found {
			for obj := range objects {
				if !yield(obj) {
					return
				}
			}
		}
	}
}

// Len returns the number of objects of view with that value. It panics in the same case as [Index.Get].
func (ix *Index[T, K]) Len(view View[T], value K) int {
	count := 0
	for _, s := range view.stores("") {
		count += ix.count(s.contents, value)
	}
	return count
}

func (ix *Index[T, K]) count(c *contents[T], value K) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return ix.of(c).keys[value].len()
}

// Range returns an iterator over the objects with values in the range from <= value < to. Within each store, the
// objects are ordered by value. An object with several such values is yielded several times. The iterator reads a
// store's state when it reaches that store, and holds no lock while it yields. The first call of Range sorts all
// values. The store then keeps them sorted, which makes its changes more expensive. Range panics as [Index.Get] does.
func (ix *Index[T, K]) Range(view View[T], from, to K) iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		for _, s := range view.stores("") {
			values, objects := ix.between(s.contents, from, to)
			for obj := range objects {
				if !yield(values[0], obj) {
					return
				}
				values = values[1:]
			}
		}
	}
}

func (ix *Index[T, K]) with(c *contents[T], value K) iter.Seq[T] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.items.pick(ix.of(c).keys.of(value))
}

// between returns the values in the range from <= value < to, and an object for each value. It sorts the values of the
// table when it first needs them in order.
func (ix *Index[T, K]) between(c *contents[T], from, to K) ([]K, iter.Seq[T]) {
	c.mu.RLock()
	if ix.of(c).order != nil {
		defer c.mu.RUnlock()
	} else {
		c.mu.RUnlock()
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	t := ix.of(c)
	if t.order == nil {
		t.order = &sortedSet[K]{}
		t.order.fill(maps.Keys(t.keys))
	}
	var values []K
	var keys []object.Key
	for value := range t.order.between(from, to) {
		for key := range t.keys.of(value) {
			values, keys = append(values, value), append(keys, key)
		}
	}
	return values, c.items.pick(slices.Values(keys))
}

// of returns the table of ix in c, whose lock is held.
func (ix *Index[T, K]) of(c *contents[T]) *indexTable[T, K] {
	t, ok := c.indexes[ix]
	if !ok {
		panic(fmt.Sprintf("informer: an index by %T was not added to the informer it is used with", *new(K)))
	}
	return t.(*indexTable[T, K])
}

// table returns an empty table of ix.
func (ix *Index[T, K]) table() table[T] { return &indexTable[T, K]{index: ix, keys: postings[K]{}} }

// table is the content of one index for one store. The store's mutex guards it.
type table[T object.Object] interface {
	insert(key object.Key, obj T)
	remove(key object.Key, obj T)
}

type indexTable[T object.Object, K cmp.Ordered] struct {
	index *Index[T, K]
	keys  postings[K]
	order *sortedSet[K] // the values in keys; nil until they are needed in order
}

func (t *indexTable[T, K]) insert(key object.Key, obj T) {
	for _, value := range t.index.values(obj) {
		if t.keys.add(value, key) && t.order != nil {
			t.order.insert(value)
		}
	}
}

func (t *indexTable[T, K]) remove(key object.Key, obj T) {
	for _, value := range t.index.values(obj) {
		if t.keys.remove(value, key) && t.order != nil {
			t.order.remove(value)
		}
	}
}

// postings maps values to the keys of the objects that have the value. No set is empty.
type postings[K comparable] map[K]*keySet

// add adds the key of an object with that value. It reports whether it is the first one.
func (p postings[K]) add(value K, key object.Key) (first bool) {
	set, ok := p[value]
	if !ok {
		set = &keySet{}
		p[value] = set
	}
	set.add(key)
	return !ok
}

// remove removes the key of an object with that value. It reports whether it was the last one.
func (p postings[K]) remove(value K, key object.Key) (last bool) {
	set, ok := p[value]
	if !ok {
		return false
	}
	set.remove(key)
	if last = set.len() == 0; last {
		delete(p, value)
	}
	return last
}

// of returns the keys of the objects with that value.
func (p postings[K]) of(value K) iter.Seq[object.Key] { return p[value].all() }

// keySet is a set of keys. A small set is a slice, because many values belong to only one object. A nil set is empty.
type keySet struct {
	few  []object.Key
	many map[object.Key]struct{} // all keys; nil for a small set
}

// mostFew is the largest size of a set that is kept as a slice.
const mostFew = 8

func (s *keySet) len() int {
	if s == nil {
		return 0
	}
	return max(len(s.few), len(s.many))
}

func (s *keySet) add(key object.Key) {
	switch {
	case s.many != nil:
		s.many[key] = struct{}{}
	case slices.Contains(s.few, key):
	case len(s.few) < mostFew:
		s.few = append(s.few, key)
	default:
		s.many = map[object.Key]struct{}{key: {}}
		for _, one := range s.few {
			s.many[one] = struct{}{}
		}
		s.few = nil
	}
}

func (s *keySet) remove(key object.Key) {
	if s.many != nil {
		delete(s.many, key)
	} else if i := slices.Index(s.few, key); i >= 0 {
		s.few = slices.Delete(s.few, i, i+1)
	}
}

func (s *keySet) all() iter.Seq[object.Key] {
	switch {
	case s == nil:
		return func(func(object.Key) bool) {}
	case s.many != nil:
		return maps.Keys(s.many)
	}
	return slices.Values(s.few)
}
