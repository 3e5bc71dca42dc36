package informer

import (
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Store is the read side of an informer's store. Every call is answered from one state, in which objects and indexes
// agree. The objects are shared with all readers and must not be modified, save those of a packed store, which are the
// caller's: see [Options].Packed. A Store is a small value and safe for concurrent use; it is obtained from
// [Informer.Store].
type Store[T object.Object] struct {
	contents *contents[T]
}

// View is what an [Index] and a [Lister] read: a [Store], or a [Scoped] informer with a store for each namespace. Each
// store is read in one state of its own.
type View[T object.Object] interface {
	// stores returns those that may have objects of a namespace, or of any when it is "".
	stores(namespace string) []Store[T]
}

func (s Store[T]) stores(string) []Store[T] { return []Store[T]{s} }

// Get returns the object with that key.
func (s Store[T]) Get(key object.Key) (T, bool) {
	obj, ok, _ := s.contents.at(key)
	return obj, ok
}

// All returns an iterator over the objects, in no order. It sees the state at the moment the iteration begins, and
// holds no lock during it; beginning copies one key and one pointer per object. A packed object is unpacked when the
// iteration comes to it.
func (s Store[T]) All() iter.Seq2[object.Key, T] {
	return s.Select("", nil)
}

// Select is [Store.All] for the objects in one namespace, or in all when it is "", whose keys are selected; a nil selected
// selects all. Others are not unpacked. selected is called with the store locked and must not call it. A namespace costs
// what is in it: the first Select of one indexes the store by namespace, which is kept up from then on.
func (s Store[T]) Select(namespace string, selected func(object.Key) bool) iter.Seq2[object.Key, T] {
	return func(yield func(object.Key, T) bool) {
		for key, obj := range s.contents.snapshot(namespace, selected) {
			if !yield(key, obj) {
				return
			}
		}
	}
}

// Keys returns the keys of all objects, in no order.
func (s Store[T]) Keys() []object.Key {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	return slices.AppendSeq(make([]object.Key, 0, s.contents.items.len()), s.contents.items.keys())
}

// Len returns the number of objects.
func (s Store[T]) Len() int { return s.contents.len() }

// ResourceVersion returns how far the store has come: every change up to this version is in it. Single objects may
// already be newer. It is empty before the first list.
func (s Store[T]) ResourceVersion() string {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	return s.contents.version
}

// contents is what a Store reads. It has one writer at a time, which the informer's mutex sees to; mu separates the
// writer from the readers, so the writer may read without it.
type contents[T object.Object] struct {
	mu       sync.RWMutex
	items    items[T]
	indexes  map[Indexer[T]]table[T] // each holds exactly what its index says of items
	version  string
	packs    bool                 // items are packed
	log      *slog.Logger         // told of objects that cannot be
	detector *mutationDetector[T] // nil, or knows all of items

	// names has the names in each namespace, none of which is empty. It is nil until a namespace is asked for.
	names map[string]map[string]struct{}
}

// newContents returns an empty store with these indexes. A nil packing leaves the objects whole.
func newContents[T object.Object](indexes []Indexer[T], packing *Packing[T]) *contents[T] {
	c := &contents[T]{items: newItems(packing), packs: packing != nil, log: slog.Default(), indexes: make(map[Indexer[T]]table[T])}
	for _, ix := range indexes {
		c.addIndex(ix)
	}
	return c
}

func (c *contents[T]) len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.items.len()
}

func (c *contents[T]) has(key object.Key) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.items.find(key)
	return ok
}

// known returns how to find the objects that need not be decoded again, or nil if there are none.
func (c *contents[T]) known() client.Known[T] {
	if c.len() == 0 {
		return nil
	}
	return func(id client.Identity) (T, bool) {
		c.mu.RLock()
		held, ok := c.items.find(object.Key{Namespace: string(id.Namespace), Name: string(id.Name)})
		c.mu.RUnlock()
		if !ok || !held.is(id.UID, id.ResourceVersion) {
			var none T
			return none, false
		}
		return held.object(), true
	}
}

// setLocked makes obj the object of key in place of old, which is nil if there is none.
func (c *contents[T]) setLocked(key object.Key, obj, old *resting[T]) {
	c.removeLocked(key, old)
	key = c.items.put(key, *obj)
	c.nameLocked(key)
	c.detector.enter(key, obj.whole)
	for _, t := range c.indexes {
		t.insert(key, obj.object())
	}
}

// removeLocked removes old, the object of key. It does nothing without one.
func (c *contents[T]) removeLocked(key object.Key, old *resting[T]) {
	if old == nil {
		return
	}
	c.items.remove(key)
	c.unnameLocked(key)
	c.detector.leave(key)
	for _, t := range c.indexes {
		t.remove(key, old.object())
	}
}

func (c *contents[T]) advanceLocked(version string) {
	if version != "" {
		c.version = version
	}
}

// swap makes items the whole content at once. The new indexes are built before readers are kept out.
func (c *contents[T]) swap(items items[T], version string) {
	indexes := make(map[Indexer[T]]table[T], len(c.indexes))
	for ix := range c.indexes {
		indexes[ix] = ix.table(objects(items))
	}
	c.detector.replace(c.items, items)
	var names map[string]map[string]struct{}
	if c.indexesNamespaces() {
		names = namesOf(items.keys())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items, c.indexes = items, indexes
	if names == nil && c.names != nil { // since then
		names = namesOf(items.keys())
	}
	c.names = names
	c.advanceLocked(version)
}

func (c *contents[T]) nameLocked(key object.Key) {
	if c.names != nil {
		addName(c.names, key)
	}
}

func (c *contents[T]) unnameLocked(key object.Key) {
	names := c.names[key.Namespace]
	delete(names, key.Name)
	if len(names) == 0 {
		delete(c.names, key.Namespace)
	}
}

// namesOf returns the names of keys in each namespace.
func namesOf(keys iter.Seq[object.Key]) map[string]map[string]struct{} {
	names := map[string]map[string]struct{}{}
	for key := range keys {
		addName(names, key)
	}
	return names
}

func addName(names map[string]map[string]struct{}, key object.Key) {
	in := names[key.Namespace]
	if in == nil {
		in = map[string]struct{}{}
		names[strings.Clone(key.Namespace)] = in // that of the key may be part of an object
	}
	in[key.Name] = struct{}{}
}

// snapshot returns what there is now in a namespace, or in all when it is "", with a key that is selected; a nil selected
// selects all. The iteration needs no lock.
func (c *contents[T]) snapshot(namespace string, selected func(object.Key) bool) iter.Seq2[object.Key, T] {
	if namespace != "" {
		c.indexNamespaces()
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	keys := c.items.keys()
	size := c.items.len()
	if namespace != "" {
		keys, size = keysIn(namespace, c.names[namespace]), len(c.names[namespace])
	}
	if selected != nil {
		keys, size = filter(keys, selected), 0
	}
	return c.items.snapshot(keys, size)
}

// indexNamespaces makes names what it is from then on.
func (c *contents[T]) indexNamespaces() {
	if c.indexesNamespaces() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.names == nil {
		c.names = namesOf(c.items.keys())
	}
}

func (c *contents[T]) indexesNamespaces() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.names != nil
}

func keysIn(namespace string, names map[string]struct{}) iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for name := range names {
			if !yield(object.Key{Namespace: namespace, Name: name}) {
				return
			}
		}
	}
}

func filter[K any](all iter.Seq[K], selected func(K) bool) iter.Seq[K] {
	return func(yield func(K) bool) {
		for k := range all {
			if selected(k) && !yield(k) {
				return
			}
		}
	}
}

// addIndex adds an index and fills it from what is there, unless it was added before.
func (c *contents[T]) addIndex(ix Indexer[T]) {
	if _, ok := c.indexes[ix]; ok {
		return
	}
	t := ix.table(objects(c.items))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexes[ix] = t
}

// at returns the object of key, and the version of the store, in one state.
func (c *contents[T]) at(key object.Key) (obj T, ok bool, version string) {
	c.mu.RLock()
	held, ok := c.items.find(key)
	version = c.version
	c.mu.RUnlock()
	if ok {
		obj = held.object()
	}
	return obj, ok, version
}
