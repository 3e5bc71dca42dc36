package informer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Store is the read side of an informer's store. Every call is answered from one state, in which objects and indexes
// agree. The objects are shared with all readers and must not be modified. A Store is a small value and safe for
// concurrent use; it is obtained from [Informer.Store].
type Store[T object.Object] struct {
	contents *contents[T]
}

// Get returns the object with that key.
func (s Store[T]) Get(key object.Key) (T, bool) {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	obj, ok := s.contents.items[key]
	return obj, ok
}

// All returns an iterator over the objects, in no order. It sees the state at the moment the iteration begins, and
// holds no lock during it; beginning copies one key and one pointer per object.
func (s Store[T]) All() iter.Seq2[object.Key, T] {
	return func(yield func(object.Key, T) bool) {
		s.contents.mu.RLock()
		entries := make([]entry[T], 0, len(s.contents.items))
		for key, obj := range s.contents.items {
			entries = append(entries, entry[T]{key, obj})
		}
		s.contents.mu.RUnlock()
		for _, e := range entries {
			if !yield(e.key, e.obj) {
				return
			}
		}
	}
}

// Keys returns the keys of all objects, in no order.
func (s Store[T]) Keys() []object.Key {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	return slices.AppendSeq(make([]object.Key, 0, len(s.contents.items)), maps.Keys(s.contents.items))
}

// ByIndex returns the objects for which the index function of that name gave value, in no order. It panics when there
// is no index of that name; HasIndex tells.
func (s Store[T]) ByIndex(name, value string) []T {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	ix, ok := s.contents.indexes[name]
	if !ok {
		panic(fmt.Sprintf("informer: no index named %q", name))
	}
	set := ix.keys[value]
	found := make([]T, 0, len(set))
	for key := range set {
		found = append(found, s.contents.items[key])
	}
	return found
}

// HasIndex reports whether there is an index of that name.
func (s Store[T]) HasIndex(name string) bool {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	_, ok := s.contents.indexes[name]
	return ok
}

// Len returns the number of objects.
func (s Store[T]) Len() int {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	return len(s.contents.items)
}

// ResourceVersion returns how far the store has come: every change up to this version is in it. Single objects may
// already be newer. It is empty before the first list.
func (s Store[T]) ResourceVersion() string {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	return s.contents.version
}

type entry[T object.Object] struct {
	key object.Key
	obj T
}

// contents is what a Store reads. It has one writer at a time, which the informer's mutex sees to; mu separates the
// writer from the readers, so the writer may read without it.
type contents[T object.Object] struct {
	mu      sync.RWMutex
	items   map[object.Key]T
	indexes map[string]*index[T] // each holds exactly what its function says of items
	version string
}

func newContents[T object.Object](indexers map[string]IndexFunc[T]) *contents[T] {
	c := &contents[T]{items: make(map[object.Key]T), indexes: make(map[string]*index[T])}
	for name, values := range indexers {
		c.indexes[name] = newIndex(values, c.items)
	}
	return c
}

func (c *contents[T]) setLocked(key object.Key, obj T) {
	c.removeLocked(key)
	c.items[key] = obj
	for _, ix := range c.indexes {
		ix.insert(key, obj)
	}
}

func (c *contents[T]) removeLocked(key object.Key) {
	old, ok := c.items[key]
	if !ok {
		return
	}
	delete(c.items, key)
	for _, ix := range c.indexes {
		ix.remove(key, old)
	}
}

func (c *contents[T]) advanceLocked(version string) {
	if version != "" {
		c.version = version
	}
}

// swap makes items the whole content at once. The new indexes are built before readers are kept out.
func (c *contents[T]) swap(items map[object.Key]T, version string) {
	indexes := make(map[string]*index[T], len(c.indexes))
	for name, ix := range c.indexes {
		indexes[name] = newIndex(ix.values, items)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items, c.indexes = items, indexes
	c.advanceLocked(version)
}

// addIndex adds an index and fills it from what is there.
func (c *contents[T]) addIndex(name string, values IndexFunc[T]) error {
	if _, ok := c.indexes[name]; ok {
		return fmt.Errorf("index %q exists", name)
	}
	ix := newIndex(values, c.items)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexes[name] = ix
	return nil
}
