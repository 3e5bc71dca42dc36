package informer

import (
	"cmp"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
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
	// store returns that which has the objects of a namespace; "" is for what is in none.
	store(namespace string) (Store[T], bool)
	// stores returns all.
	stores() []Store[T]
}

func (s Store[T]) store(string) (Store[T], bool) { return s, true }

func (s Store[T]) stores() []Store[T] { return []Store[T]{s} }

// Get returns the object with that key.
func (s Store[T]) Get(key object.Key) (T, bool) {
	obj, ok, _ := s.contents.at(key)
	return obj, ok
}

// Has reports whether there is an object with that key.
func (s Store[T]) Has(key object.Key) bool { return s.contents.has(key) }

// All returns an iterator over the objects, in no order. It sees the state at the moment of the call, and the iteration
// holds no lock; the call copies one key and one pointer per object. A packed object is unpacked when the iteration
// comes to it.
func (s Store[T]) All() iter.Seq2[object.Key, T] {
	return s.Select("", nil, nil)
}

// Select is [Store.All] for the objects in one namespace, or in all when it is "", whose labels and keys are selected; a
// nil selector, or function, selects all. Others are not unpacked. selector and selected are called with the store locked
// and must not call it. A namespace costs what is in it.
func (s Store[T]) Select(
	namespace string, selector labels.Selector, selected func(object.Key) bool,
) iter.Seq2[object.Key, T] {
	return s.contents.snapshot(namespace, selector, selected)
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
	packer   *pack.Packer[T]         // of items; nil if they are whole
	spare    atomic.Pointer[kept[T]] // is free for the next object of a list; may be nil
	log      *slog.Logger            // receives objects that cannot be kept
	detector *mutationDetector[T]    // nil, or knows all of items
	observer Observer[T]             // may be nil
}

// newContents returns an empty store with these indexes. A nil packing leaves the objects whole.
func newContents[T object.Object](indexes []Indexer[T], packing *Packing[T]) *contents[T] {
	c := &contents[T]{items: newItems(packing), log: slog.Default(), indexes: make(map[Indexer[T]]table[T])}
	if packing != nil {
		c.packer = packing.packer
	}
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
func (c *contents[T]) known() wire.Known[T] {
	if c.len() == 0 {
		// A first list would ask for each object in vain.
		return nil
	}
	return func(id wire.Identity) (T, bool) {
		c.mu.RLock()
		held, ok := c.items.lookUp(id.Namespace, id.Name)
		c.mu.RUnlock()
		if !ok || !held.is(id.UID, id.ResourceVersion) {
			var none T
			return none, false
		}
		if c.packer != nil {
			if obj, ok := any(c.placeholder(held.packed)).(T); ok {
				return obj, true
			}
		}
		return held.object(), true
	}
}

// placeholder returns one for an object of the store.
func (c *contents[T]) placeholder(packed pack.Packed) *kept[T] {
	k := c.spare.Swap(nil)
	if k == nil {
		k = &kept[T]{packer: c.packer}
	}
	k.packed = packed
	return k
}

// free takes back a placeholder that is no longer used.
func (c *contents[T]) free(k *kept[T]) {
	k.packed = ""
	c.spare.Store(k)
}

// setLocked makes obj the object of key in place of old, which is nil if there is none.
func (c *contents[T]) setLocked(key object.Key, obj, old *stored[T]) {
	// The indexes know old by its own values, so it leaves them before it is replaced.
	c.removeLocked(key, old)
	// The key of the store, which keeps no body alive that a name was cut from.
	key = c.items.put(key, *obj)
	c.detector.enter(key, obj.whole)
	for _, t := range c.indexes {
		t.insert(key, obj.object())
	}
}

// removeLocked removes old, the object of key. It does nothing without one.
func (c *contents[T]) removeLocked(key object.Key, old *stored[T]) {
	if old == nil {
		return
	}
	c.items.remove(key)
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
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items, c.indexes = items, indexes
	c.advanceLocked(version)
}

// snapshot returns the present objects of a namespace, or of all when it is "", whose labels and keys are selected; a nil
// selector, or function, selects all. The iteration needs no lock.
func (c *contents[T]) snapshot(
	namespace string, selector labels.Selector, selected func(object.Key) bool,
) iter.Seq2[object.Key, T] {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.items.snapshot(namespace, selector, selected)
}

// addIndex adds an index and fills it from what is there, unless it was added before.
func (c *contents[T]) addIndex(ix Indexer[T]) {
	if _, ok := c.indexes[ix]; ok {
		return
	}
	// Readers may go on: what changes items holds the informer's mutex, as the caller does.
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
	// After the lock: to unpack an object takes as long as to copy it.
	if ok {
		obj = held.object()
	}
	return obj, ok, version
}

// advance brings c to the state after deltas, which are as [reflector.DeltaFIFO.Pop] hands them out, tells the observer, and returns
// what that means for handlers.
func (c *contents[T]) advance(deltas reflector.Deltas[T]) (events batch[T]) {
	switch deltas[0].Type {
	case reflector.Replaced:
		if events = c.replace(deltas[0]); events.packed != nil {
			if c.observer != nil {
				c.observer.Listed(c.version, events.objects())
			}
			return events
		}
	case reflector.Sync:
		c.mu.Lock()
		c.advanceLocked(deltas[0].ResourceVersion) // of a bookmark, or of deltas that were compacted to nothing, behind it
		c.mu.Unlock()
		events = c.items.events(Event[T]{Type: Updated})
	default:
		changes, failed := c.apply(deltas)
		if len(changes) <= cap(changes)/2 { // listeners keep them for a while
			changes = slices.Clone(changes)
		}
		events = batch[T]{events: changes}
		for _, err := range failed {
			c.log.Error("keep an object", "err", err)
		}
	}
	if c.observer == nil {
		return events
	}
	c.observer.Applied(c.version, events.events)
	return events
}

// apply brings c to the state after deltas, in one step for its readers, and returns what that means for handlers, and why
// objects could not be kept, which leaves what there was.
func (c *contents[T]) apply(deltas reflector.Deltas[T]) (events []Event[T], failed []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	events = make([]Event[T], 0, len(deltas))
	for _, d := range deltas {
		held, existed := c.items.find(d.Key)
		old := &held
		if !existed {
			old = nil
		}
		switch d.Type {
		case reflector.Added, reflector.Updated:
			now, err := c.items.form(d.Object)
			if err != nil {
				failed = append(failed, err)
				break
			}
			before := len(events)
			events = c.setStateLocked(events, d.Key, old, &now)
			for n := range events[before:] {
				events[before+n].Merged, events[before+n].bytes = d.Merged, d.Bytes
			}
		case reflector.Deleted:
			c.removeLocked(d.Key, old)
			events = appendDeletion(events, old, d)
		}
		c.advanceLocked(d.ResourceVersion)
	}
	return events, failed
}

// setStateLocked makes now the object of key in place of old and appends what that means for handlers: nothing if it is
// in the same state.
func (c *contents[T]) setStateLocked(events []Event[T], key object.Key, old, now *stored[T]) []Event[T] {
	before := old
	if old != nil && !old.sameObject(now) {
		// The name was given to another object: the watch has missed that the one before it was deleted.
		events = append(events, missed(old.object()))
		before = nil
	}
	if before != nil && before.sameState(now) {
		return events
	}
	c.setLocked(key, now, old)
	return append(events, change(before, now))
}

// replace makes what d lists the whole content and returns what that means for handlers: the deletions that were
// missed, in the order of their keys, then the changes in the order of the list. What is in the same state as before
// stays the same object.
func (c *contents[T]) replace(d reflector.Delta[T]) batch[T] {
	all := c.listed(d)
	if packed, ok := all.(*packedList[T]); ok && c.items.len() == 0 {
		c.rebuild(all, nil, d)
		return packed.added()
	}
	changes, present := c.changes(all, d.SetBack)
	missing := c.missing(all, d.Retained, present)
	// Before the store changes: the events have the old states.
	var deletions, events []Event[T]
	if len(changes) > 0 {
		events = make([]Event[T], 0, len(changes))
	}
	for n := range missing {
		deletions = append(deletions, missed(missing[n].old.object()))
	}
	for n := range changes {
		one := &changes[n]
		before := one.old
		if before != nil && !before.sameObject(&one.now) {
			deletions = append(deletions, missed(before.object()))
			before = nil
		}
		events = append(events, merged(change(before, &one.now)))
	}
	if len(changes)+len(missing) <= changedInPlace {
		c.update(changes, missing, d.ResourceVersion)
	} else {
		c.rebuild(all, changes, d)
	}
	if len(deletions) == 0 {
		return batch[T]{events: events}
	}
	slices.SortFunc(deletions, func(a, b Event[T]) int {
		return compareKeys(object.KeyOf(a.Object), object.KeyOf(b.Object))
	})
	return batch[T]{events: append(deletions, events...)}
}

// changedInPlace is how many objects of the store a relist changes at most while readers wait. Beyond that it builds
// new items and indexes first.
const changedInPlace = 1000

// replaced is a change of one object by a list.
type replaced[T object.Object] struct {
	key object.Key
	old *stored[T] // nil is none
	now stored[T]  // of an object that is listed
}

// changes returns the listed objects whose state the store does not have, and the number of listed objects of which the
// store has any state.
func (c *contents[T]) changes(all listed[T], setBack bool) (changes []replaced[T], present int) {
	if c.items.len() == 0 {
		changes = make([]replaced[T], 0, all.Len())
	}
	for key, now := range all.all() {
		old, existed := c.items.find(key)
		if !existed {
			changes = append(changes, replaced[T]{key: key, now: now})
			continue
		}
		present++
		if !old.sameObject(&now) || !old.sameState(&now) || setBack && !old.sameContent(&now) {
			before := old // so that only that of a change is allocated
			changes = append(changes, replaced[T]{key: key, old: &before, now: now})
		}
	}
	return changes, present
}

// missing returns the objects of the store that are neither listed nor retained. Of the listed ones, it has that many.
func (c *contents[T]) missing(all listed[T], retained []object.Key, present int) (missing []replaced[T]) {
	if present == c.items.len() {
		return nil
	}
	stay := make(map[object.Key]bool, len(retained))
	for _, key := range retained {
		stay[key] = true
	}
	for key, old := range c.items.all() {
		if !stay[key] && !all.has(key) {
			before := old
			missing = append(missing, replaced[T]{key: key, old: &before})
		}
	}
	return missing
}

// update changes single objects, in one step for readers.
func (c *contents[T]) update(changes, missing []replaced[T], version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range missing {
		c.removeLocked(missing[n].key, missing[n].old)
	}
	for n := range changes {
		c.setLocked(changes[n].key, &changes[n].now, changes[n].old)
	}
	c.advanceLocked(version)
}

// rebuild makes new items of the listed objects, which have the changes, and of the retained ones of d.
func (c *contents[T]) rebuild(all listed[T], changes []replaced[T], d reflector.Delta[T]) {
	items := c.items.empty()
	for key, now := range all.all() {
		if len(changes) > 0 && changes[0].key == key {
			changes = changes[1:]
		} else if old, ok := c.items.find(key); ok {
			now = old // so that what readers have of it is not doubled
		}
		items.put(key, now)
	}
	for _, key := range d.Retained {
		if old, ok := c.items.find(key); ok && !all.has(key) {
			items.put(key, old)
		}
	}
	c.swap(items, d.ResourceVersion)
}

// initial returns an Added for every object, as a new handler gets it.
func (c *contents[T]) initial() batch[T] { return c.items.events(Event[T]{Type: Added, Initial: true}) }

// change is the event of an object that is there in a new state. Nil is no old one.
func change[T object.Object](old, now *stored[T]) Event[T] {
	if old == nil {
		return Event[T]{Type: Added, Object: now.object()}
	}
	return Event[T]{Type: Updated, Object: now.object(), Old: old.object()}
}

// merged returns an event of a list: nobody has seen what led to the state.
func merged[T object.Object](e Event[T]) Event[T] {
	e.Merged = true
	return e
}

// appendDeletion appends the event of an object that is gone. That of an object that was never seen, which is nil, is told
// too.
func appendDeletion[T object.Object](events []Event[T], old *stored[T], d reflector.Delta[T]) []Event[T] {
	if d.FinalStateUnknown {
		if old != nil {
			events = append(events, missed(old.object()))
		}
		return events
	}
	// Handlers are told of each life by its UID, also of one whose end was missed.
	if old != nil && old.object().GetUID() != d.Object.GetUID() {
		events = append(events, missed(old.object()))
	}
	return append(events, Event[T]{Type: Deleted, Object: d.Object, Merged: d.Merged})
}

// missed is the deletion of an object that the watch did not tell of.
func missed[T object.Object](last T) Event[T] {
	return Event[T]{Type: Deleted, Object: last, FinalStateUnknown: true}
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
