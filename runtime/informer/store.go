package informer

import (
	"cmp"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/internal/collect"
	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// Store is the read side of an informer's store. Each call reads one consistent state of objects and indexes. All
// readers share the objects and must not modify them. The objects of a packed store are an exception: the caller owns
// them, see [Options].Packed. A Store is a small value and safe for concurrent use. [Informer.Store] returns one.
type Store[T object.Object] struct {
	contents *contents[T]
}

// View is what an [Index] or a [Lister] reads: a [Store], or a [Scoped] informer, which has a store for each namespace.
// Each store is read in a consistent state of its own.
type View[T object.Object] interface {
	// stores returns the stores that together have all objects of a namespace, or all objects if it is "".
	stores(namespace string) []Store[T]
}

func (s Store[T]) stores(string) []Store[T] { return []Store[T]{s} }

// Get returns the object with that key.
func (s Store[T]) Get(key object.Key) (T, bool) {
	c := s.contents
	c.mu.RLock()
	held, ok := c.items.find(key)
	c.mu.RUnlock()
	if !ok {
		var none T
		return none, false
	}
	return held.object(), true // after unlocking, because unpacking takes as long as a deep copy
}

// Has reports whether an object has that key.
func (s Store[T]) Has(key object.Key) bool { return s.contents.has(key) }

// All returns an iterator over the objects, in no particular order. The iterator has the state at the time of the call
// and holds no lock. The call copies one key and one pointer per object. Packed objects are unpacked one by one.
func (s Store[T]) All() iter.Seq2[object.Key, T] {
	return s.Select("", nil, nil)
}

// Select returns an iterator over the objects in one namespace, or in all namespaces if it is "", whose labels match
// selector and for whose keys selected returns true. A nil selector or function selects all objects. Objects that are
// not selected are not unpacked. selector and selected run while the store is locked and must not call it. If a
// namespace is given, the cost depends only on the objects in it. In other respects, Select works like [Store.All].
//
// A selector that requires a value of a label reads an index of that label, if the store has one. The store builds an
// index when reads by that label have examined, without a match, 16 times as many objects as the store has. It builds
// none for fewer than 1,000 objects, keeps at most four, and removes an index that is no longer read.
func (s Store[T]) Select(
	namespace string, selector labels.Selector, selected func(object.Key) bool,
) iter.Seq2[object.Key, T] {
	c := s.contents
	label, values := equality(selector)
	found, build := c.find(query{namespace: namespace, selector: selector, selected: selected}, label, values)
	if build {
		c.buildLabelIndex(label)
	}
	return found
}

// Len returns the number of objects.
func (s Store[T]) Len() int { return s.contents.len() }

// ResourceVersion returns the resource version of the store. The store has every change up to this version, and some
// objects may be newer. ResourceVersion is empty before the first list.
func (s Store[T]) ResourceVersion() string {
	s.contents.mu.RLock()
	defer s.contents.mu.RUnlock()
	return s.contents.version
}

// contents is the content of a Store. The informer's mutex ensures that there is only one writer at a time. mu
// separates the writer from the readers, so the writer may read without locking it.
type contents[T object.Object] struct {
	mu       sync.RWMutex
	items    items[T]
	indexes  map[Indexer[T]]table[T] // each has exactly the values of its index for items
	version  string
	packer   *pack.Packer[T]         // packer of items; nil if they are whole
	spare    atomic.Pointer[kept[T]] // placeholder for the next object of a list; may be nil
	log      *slog.Logger            // receives objects that cannot be kept
	detector *mutationDetector[T]    // has originals of all items; may be nil
	observer Observer[T]             // may be nil
	labels   labelIndexes
}

// newContents returns an empty store with these indexes. If packing is nil, the store keeps whole objects.
func newContents[T object.Object](indexes []Indexer[T], packing *Packing[T]) *contents[T] {
	c := &contents[T]{log: slog.Default(), indexes: make(map[Indexer[T]]table[T])}
	c.labels.byLabel, c.labels.wasted = map[string]*labelIndex{}, map[string]int{}
	if packing != nil {
		c.packer = packing.packer
	}
	c.items = newItems(c.packer)
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

// known returns a function that finds objects that the decoder can reuse, or nil if the store is empty.
func (c *contents[T]) known() wire.Known[T] {
	if c.len() == 0 {
		// Every lookup of a first list would fail.
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

// placeholder returns a placeholder for an object of the store.
func (c *contents[T]) placeholder(packed pack.Packed) *kept[T] {
	k := c.spare.Swap(nil)
	if k == nil {
		k = &kept[T]{packer: c.packer}
	}
	k.packed = packed
	return k
}

// setLocked replaces old, which may be nil, by obj as the object of key.
func (c *contents[T]) setLocked(key object.Key, obj, old *stored[T]) {
	// old is removed from the indexes before it is replaced, because the indexes derive its values from it.
	c.removeLocked(key, old)
	// put returns a key that does not keep the response body alive from which a name was cut.
	key = c.items.put(key, *obj)
	c.detector.enter(key, obj.whole)
	c.insertLabelsLocked(key, obj)
	for _, t := range c.indexes {
		t.insert(key, obj.object())
	}
}

// removeLocked removes old, the object of key. It does nothing if old is nil.
func (c *contents[T]) removeLocked(key object.Key, old *stored[T]) {
	if old == nil {
		return
	}
	c.removeLabelsLocked(key, old)
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

// swap replaces the whole content at once. It builds the new indexes before it locks out readers.
func (c *contents[T]) swap(items items[T], version string) {
	indexes := tables(items, slices.Collect(maps.Keys(c.indexes))...)
	byLabel := c.rebuiltLabels(items)
	c.detector.replace(c.items, items)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.items, c.indexes, c.labels.byLabel = items, indexes, byLabel
	c.advanceLocked(version)
}

// find returns the objects of q, which requires one of values for a label unless label is empty. It reads an index of
// the label if that is less work. build reports whether it is worthwhile to build an index of the label.
func (c *contents[T]) find(q query, label string, values []string) (found iter.Seq2[object.Key, T], build bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	most := c.items.count(q.namespace)
	ix := c.labels.byLabel[label]
	if ix != nil {
		ix.idle.Store(0)
		if keys, count := ix.with(values); count < most {
			q.among = keys
		}
	}
	found, count := c.items.snapshot(q)
	return found, ix == nil && label != "" && c.labels.scanned(label, most-count, c.items.len())
}

// addIndex adds an index and fills it, unless it was added before.
func (c *contents[T]) addIndex(ix Indexer[T]) {
	if _, ok := c.indexes[ix]; ok {
		return
	}
	// Readers may continue: changes of items require the informer's mutex, which the caller holds.
	t := tables(c.items, ix)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexes[ix] = t[ix]
}

// advance applies deltas from [reflector.DeltaFIFO.Pop], calls the observer, and returns the events for handlers.
func (c *contents[T]) advance(deltas reflector.Deltas[T]) (events batch[T]) {
	switch deltas[0].Type {
	case reflector.Replaced:
		events = c.replace(deltas[0])
	case reflector.Sync:
		c.mu.Lock()
		c.advanceLocked(deltas[0].ResourceVersion) // version of a bookmark, or of deltas that canceled each other out
		c.mu.Unlock()
		events = c.items.events(Event[T]{Type: Updated})
	default:
		changes, failed := c.apply(deltas)
		if len(changes) <= cap(changes)/2 { // because listeners keep them for some time
			changes = slices.Clone(changes)
		}
		events = batch[T]{events: changes}
		for _, err := range failed {
			c.log.Error("keep an object", "err", err)
		}
	}
	switch {
	case c.observer == nil:
	case deltas[0].Type == reflector.Replaced && events.packed != nil:
		c.observer.Listed(c.version, events.objects())
	default:
		c.observer.Applied(c.version, events.events)
	}
	return events
}

// apply applies deltas in one step for readers. It returns the resulting events, and an error for each object that
// could not be kept and therefore keeps its previous state.
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

// setStateLocked replaces old with now as the object of key, and appends the event unless both are the same state.
func (c *contents[T]) setStateLocked(events []Event[T], key object.Key, old, now *stored[T]) []Event[T] {
	before := old
	if old != nil && !old.sameObject(now) {
		// The name belongs to a new object: the watch missed the deletion of the old one.
		events = append(events, missed(old.object()))
		before = nil
	}
	if before != nil && before.sameState(now) {
		return events
	}
	c.setLocked(key, now, old)
	return append(events, change(before, now))
}

// replace makes the list d the whole content and returns the resulting events: first the missed deletions in the order
// of their keys, then the changes in the order of the list. An object whose state has not changed is kept.
func (c *contents[T]) replace(d reflector.Delta[T]) batch[T] {
	if list, ok := d.Stored.(*collect.List[T, pack.Packed]); ok && c.items.len() == 0 {
		c.rebuild(d, nil)
		return batch[T]{packed: &packedEvents[T]{packed: list.Values(), packer: c.packer, example: Event[T]{Type: Added}}}
	}
	changes := c.changes(d)
	// The events are built before the store changes, because they contain the old states.
	var deletions, events []Event[T]
	if len(changes) > 0 {
		events = make([]Event[T], 0, len(changes))
	}
	for n := range changes {
		one := &changes[n]
		before := one.old
		if before != nil && (one.missing || !before.sameObject(&one.now)) {
			deletions = append(deletions, missed(before.object()))
			before = nil
		}
		if !one.missing {
			e := change(before, &one.now)
			e.Merged = true // because the states in between were not seen
			events = append(events, e)
		}
	}
	if len(changes) <= changedInPlace {
		c.update(changes, d.ResourceVersion)
	} else {
		c.rebuild(d, changes)
	}
	if len(deletions) == 0 {
		return batch[T]{events: events}
	}
	slices.SortFunc(deletions, func(a, b Event[T]) int {
		return compareKeys(object.KeyOf(a.Object), object.KeyOf(b.Object))
	})
	return batch[T]{events: append(deletions, events...)}
}

// changedInPlace is the maximum number of objects that a relist changes while readers wait. To change more objects, it
// builds new items and indexes first.
const changedInPlace = 1000

// replaced is the change of one object by a list.
type replaced[T object.Object] struct {
	key     object.Key
	old     *stored[T] // may be nil, unless missing is set
	now     stored[T]  // set unless missing is set
	missing bool       // the object is neither listed nor retained
}

// changes returns the changes by the list d: first the listed objects whose state differs from the store's, in the
// order of the list, and then the missing objects.
func (c *contents[T]) changes(d reflector.Delta[T]) (changes []replaced[T]) {
	if c.items.len() == 0 {
		changes = make([]replaced[T], 0, d.Stored.Len())
	}
	present := 0
	for key, now := range c.listed(d.Stored) {
		old, existed := c.items.find(key)
		if !existed {
			changes = append(changes, replaced[T]{key: key, now: now})
			continue
		}
		present++
		if !old.sameObject(&now) || !old.sameState(&now) || d.SetBack && !old.sameContent(&now) {
			before := old // so that only old objects of changes are allocated
			changes = append(changes, replaced[T]{key: key, old: &before, now: now})
		}
	}
	if present == c.items.len() {
		return changes
	}
	stay := make(map[object.Key]bool, len(d.Retained))
	for _, key := range d.Retained {
		stay[key] = true
	}
	for key, old := range c.items.all() {
		if !stay[key] && !d.Stored.Has(key) {
			before := old
			changes = append(changes, replaced[T]{key: key, old: &before, missing: true})
		}
	}
	return changes
}

// update changes single objects, in one step for readers.
func (c *contents[T]) update(changes []replaced[T], version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n := range changes {
		if one := &changes[n]; one.missing {
			c.removeLocked(one.key, one.old)
		} else {
			c.setLocked(one.key, &one.now, one.old)
		}
	}
	c.advanceLocked(version)
}

// rebuild creates new items from the objects of the list d, with the changes, and from its retained ones.
func (c *contents[T]) rebuild(d reflector.Delta[T], changes []replaced[T]) {
	items := c.items.empty()
	for key, now := range c.listed(d.Stored) {
		if len(changes) > 0 && changes[0].key == key {
			changes = changes[1:]
		} else if old, ok := c.items.find(key); ok {
			now = old // so that readers and store share one object
		}
		items.put(key, now)
	}
	for _, key := range d.Retained {
		if old, ok := c.items.find(key); ok && !d.Stored.Has(key) {
			items.put(key, old)
		}
	}
	c.swap(items, d.ResourceVersion)
}

// change returns the event of an object with a new state. old may be nil.
func change[T object.Object](old, now *stored[T]) Event[T] {
	if old == nil {
		return Event[T]{Type: Added, Object: now.object()}
	}
	return Event[T]{Type: Updated, Object: now.object(), Old: old.object()}
}

// appendDeletion appends the event of a deleted object. old is nil for an object that was never seen.
func appendDeletion[T object.Object](events []Event[T], old *stored[T], d reflector.Delta[T]) []Event[T] {
	// Handlers receive each object by its UID, including an object whose deletion was missed.
	if old != nil && (d.FinalStateUnknown || old.object().GetUID() != d.Object.GetUID()) {
		events = append(events, missed(old.object()))
	}
	if d.FinalStateUnknown {
		return events
	}
	return append(events, Event[T]{Type: Deleted, Object: d.Object, Merged: d.Merged})
}

// missed returns the event of a deletion that the watch did not send.
func missed[T object.Object](last T) Event[T] {
	return Event[T]{Type: Deleted, Object: last, FinalStateUnknown: true}
}

func compareKeys(a, b object.Key) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
