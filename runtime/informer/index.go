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
	table(objects iter.Seq2[object.Key, T]) table[T]
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
	for _, s := range view.stores() {
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
	for _, s := range view.stores() {
		count += ix.count(s.contents, value)
	}
	return count
}

func (ix *Index[T, K]) count(c *contents[T], value K) int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(ix.of(c).keys[value])
}

// Range returns an iterator over the objects with values in the range from <= value < to. Within each store, the
// objects are ordered by value. An object with several such values is yielded several times. The iterator reads a
// store's state when it reaches that store, and holds no lock while it yields. The first call of Range sorts all
// values. The store then keeps them sorted, which makes its changes more expensive. Range panics as [Index.Get] does.
func (ix *Index[T, K]) Range(view View[T], from, to K) iter.Seq2[K, T] {
	return func(yield func(K, T) bool) {
		for _, s := range view.stores() {
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
	return c.items.pick(maps.Keys(ix.of(c).keys[value]))
}

// between returns the values in the range from <= value < to, and an object for each value.
func (ix *Index[T, K]) between(c *contents[T], from, to K) ([]K, iter.Seq[T]) {
	ix.sort(c)
	c.mu.RLock()
	defer c.mu.RUnlock()
	t := ix.of(c)
	if !t.ordered {
		t = t.sorted() // the whole content was replaced in between
	}
	var values []K
	var keys []object.Key
	for value := range t.order.between(from, to) {
		for key := range t.keys[value] {
			values, keys = append(values, value), append(keys, key)
		}
	}
	return values, c.items.pick(slices.Values(keys))
}

// sort sorts the values of the table in c, which from then on keeps them sorted. It does nothing if they are sorted.
func (ix *Index[T, K]) sort(c *contents[T]) {
	c.mu.RLock()
	ordered := ix.of(c).ordered
	c.mu.RUnlock()
	if ordered {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := ix.of(c)
	t.order = t.sorted().order
	t.ordered = true
}

// of returns the table of ix in c, whose lock is held.
func (ix *Index[T, K]) of(c *contents[T]) *indexTable[T, K] {
	t, ok := c.indexes[ix]
	if !ok {
		panic(fmt.Sprintf("informer: an index by %T was not added to the informer it is used with", *new(K)))
	}
	return t.(*indexTable[T, K])
}

// table returns a table of ix with the given objects.
func (ix *Index[T, K]) table(objects iter.Seq2[object.Key, T]) table[T] {
	t := &indexTable[T, K]{index: ix, keys: make(map[K]map[object.Key]struct{})}
	for key, obj := range objects {
		t.insert(key, obj)
	}
	return t
}

// table is the content of one index for one store. The store's mutex guards it.
type table[T object.Object] interface {
	insert(key object.Key, obj T)
	remove(key object.Key, obj T)
}

type indexTable[T object.Object, K cmp.Ordered] struct {
	index   *Index[T, K]
	keys    map[K]map[object.Key]struct{} // no set is empty
	ordered bool                          // order has exactly the values in keys; never reset
	order   sortedSet[K]
}

func (t *indexTable[T, K]) insert(key object.Key, obj T) {
	for _, value := range t.index.values(obj) {
		set, ok := t.keys[value]
		if !ok {
			set = make(map[object.Key]struct{})
			t.keys[value] = set
			if t.ordered {
				t.order.insert(value)
			}
		}
		set[key] = struct{}{}
	}
}

func (t *indexTable[T, K]) remove(key object.Key, obj T) {
	for _, value := range t.index.values(obj) {
		set, ok := t.keys[value]
		if !ok {
			continue
		}
		delete(set, key)
		if len(set) == 0 {
			delete(t.keys, value)
			if t.ordered {
				t.order.remove(value)
			}
		}
	}
}

// sorted returns a table with the same keys and ordered values.
func (t *indexTable[T, K]) sorted() *indexTable[T, K] {
	s := &indexTable[T, K]{index: t.index, keys: t.keys, order: sortedSet[K]{}}
	s.order.fill(maps.Keys(t.keys))
	return s
}
