package informer

import (
	"iter"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// gathering collects the whole state of a source.
type gathering[T object.Object] interface {
	// keep makes what the store has the object of key, if that is the state that obj is of, and reports whether it is.
	keep(key object.Key, obj T) bool
	// set makes obj the object of key. One that is not readable exists, but what is known of it stays.
	set(key object.Key, obj T, readable bool)
	remove(key object.Key)
	// replaced returns the state as a delta, in the order of arrival. It takes over what was gathered.
	replaced(version string) Delta[T]
}

// anew gathers a state for which nothing is kept of what the store has, and says so.
type anew[T object.Object] struct{ gathering[T] }

func (anew[T]) keep(object.Key, T) bool { return false }

func (s anew[T]) replaced(version string) Delta[T] {
	d := s.gathering.replaced(version)
	d.anew = true
	return d
}

// same returns what c has of key, if that is the state that obj is of. A nil c has nothing.
func (c *contents[T]) same(key object.Key, obj T) (held stored[T], same bool) {
	if c == nil {
		return held, false
	}
	c.mu.RLock()
	held, same = c.items.find(key)
	c.mu.RUnlock()
	if c.packs {
		return held, same && held.packed.IsState([]byte(obj.GetUID()), []byte(obj.GetResourceVersion()))
	}
	now := stored[T]{whole: obj}
	return held, same && held.sameObject(&now) && held.sameState(&now)
}

// pagesState is what the pages of a list have come to so far.
type pagesState[T object.Object] struct {
	store  *contents[T]
	listed Delta[T]
}

func (s *pagesState[T]) keep(key object.Key, obj T) bool {
	held, same := s.store.same(key, obj)
	if same {
		s.set(key, held.whole, true)
	}
	return same
}

func (s *pagesState[T]) set(key object.Key, obj T, readable bool) {
	if !readable {
		s.listed.Retained = append(s.listed.Retained, key)
		return
	}
	s.listed.Objects = append(s.listed.Objects, obj)
}

func (s *pagesState[T]) remove(object.Key) {} // nothing is removed from a list

func (s *pagesState[T]) replaced(version string) Delta[T] {
	s.listed.Type, s.listed.ResourceVersion = Replaced, version
	return s.listed
}

// packedState is what a source has come to so far, for a store of packed objects: each is packed when it arrives, so that
// there is never more than one whole object for each that is being decoded.
type packedState[T object.Object] struct {
	store      *contents[T]
	objects    items[T]
	unreadable map[object.Key]bool
	order      []object.Key // of objects; after a removal also others, and some twice
	removed    bool
}

// newPackedState returns an empty state for store, with room for that many objects.
func newPackedState[T object.Object](store *contents[T], size int) *packedState[T] {
	store.mu.RLock()
	defer store.mu.RUnlock()
	return &packedState[T]{
		store:      store,
		objects:    store.items.empty(size),
		unreadable: make(map[object.Key]bool),
		order:      make([]object.Key, 0, size),
	}
}

func (s *packedState[T]) keep(key object.Key, obj T) bool {
	held, same := s.store.same(key, obj)
	if same {
		s.put(key, held)
	}
	return same
}

func (s *packedState[T]) set(key object.Key, obj T, readable bool) {
	var form stored[T]
	if readable {
		var err error
		if form, err = s.objects.form(obj); err != nil {
			s.store.log.Error("keep an object", "key", key, "err", err)
			readable = false
		}
	}
	if !readable {
		s.remove(key)
		s.unreadable[key] = true
		return
	}
	s.put(key, form)
}

func (s *packedState[T]) put(key object.Key, form stored[T]) {
	delete(s.unreadable, key)
	if _, has := s.objects.find(key); !has {
		s.order = append(s.order, key)
	}
	s.objects.put(key, form)
}

func (s *packedState[T]) remove(key object.Key) {
	_, has := s.objects.find(key)
	s.removed = s.removed || has
	s.objects.remove(key)
	delete(s.unreadable, key)
}

func (s *packedState[T]) replaced(version string) Delta[T] {
	d := Delta[T]{Type: Replaced, ResourceVersion: version, stored: &listed[T]{objects: s.objects, order: s.order}}
	if s.removed {
		d.stored.order = s.latest()
	}
	for key := range s.unreadable {
		d.Retained = append(d.Retained, key)
	}
	return d
}

// latest returns the keys of the objects, in the order of their first states.
func (s *packedState[T]) latest() []object.Key {
	var latest []object.Key
	seen := make(map[object.Key]bool, len(s.order))
	for _, key := range s.order {
		if _, has := s.objects.find(key); has && !seen[key] {
			latest = append(latest, key)
			seen[key] = true
		}
	}
	return latest
}

// listed are the objects of a list in the form in which the store will have them.
type listed[T object.Object] struct {
	objects items[T]
	order   []object.Key // each once; nil is the order of whole
	whole   []T
}

// all returns the objects in the order of the list.
func (l *listed[T]) all() iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		for _, obj := range l.whole {
			if !yield(object.KeyOf(obj), stored[T]{whole: obj}) {
				return
			}
		}
		for _, key := range l.order {
			if obj, _ := l.objects.find(key); !yield(key, obj) {
				return
			}
		}
	}
}

// listed returns what d lists in the form in which c keeps it. The delta is of a whole state.
func (c *contents[T]) listed(d Delta[T]) *listed[T] {
	if d.stored != nil {
		return d.stored
	}
	if c.packs {
		state := newPackedState(c, len(d.Objects))
		for _, obj := range d.Objects {
			if key := object.KeyOf(obj); !state.keep(key, obj) {
				state.set(key, obj, true)
			}
		}
		return state.replaced("").stored
	}
	objects, once := d.byKey, d.Objects
	if objects == nil {
		objects, once = byKey(d.Objects)
	}
	return &listed[T]{objects: wholeItems[T](objects), whole: once}
}

// added returns an Added for every object, which is packed, in the order of the list.
func (l *listed[T]) added() batch[T] {
	s := &packedEvents[T]{packed: make([]pack.Packed, 0, len(l.order)), example: Event[T]{Type: Added}}
	for _, obj := range l.all() {
		s.packed, s.packer = append(s.packed, obj.packed), obj.packer
	}
	return batch[T]{packed: s}
}

// initialState is what the initial events have come to so far. Mostly they are one state of each object, which then are
// only collected: a map that grew with them would take twice the memory of the one that is made when their number is known.
type initialState[T object.Object] struct {
	store      *contents[T]
	order      collected[T]        // all states that arrived, also those that are not the last of their object
	objects    map[object.Key]T    // the last states, from when one was removed; nil before
	unreadable map[object.Key]bool // exist, but have no object because the transform failed
}

// newInitialState returns an empty state for store, which may be nil, with room for that many objects.
func newInitialState[T object.Object](store *contents[T], size int) *initialState[T] {
	return &initialState[T]{store: store, unreadable: make(map[object.Key]bool), order: collected[T]{room: size}}
}

func (s *initialState[T]) keep(key object.Key, obj T) bool {
	held, same := s.store.same(key, obj)
	if same {
		s.set(key, held.whole, true)
	}
	return same
}

func (s *initialState[T]) set(key object.Key, obj T, readable bool) {
	if !readable {
		s.remove(key)
		s.unreadable[key] = true
		return
	}
	delete(s.unreadable, key)
	s.order.add(obj)
	if s.objects != nil {
		s.objects[key] = obj
	}
}

func (s *initialState[T]) remove(key object.Key) {
	if s.objects == nil {
		s.objects = s.order.byKey()
	}
	delete(s.objects, key)
	delete(s.unreadable, key)
}

// replaced returns the state as a delta, in the order of arrival. It takes over what s has.
func (s *initialState[T]) replaced(version string) Delta[T] {
	if s.objects == nil {
		s.objects = s.order.byKey()
	}
	d := Delta[T]{Type: Replaced, ResourceVersion: version, byKey: s.objects}
	if s.order.count == len(s.objects) {
		d.Objects = s.order.slice()
	} else {
		d.Objects, d.byKey = s.latest(), nil
	}
	for key := range s.unreadable {
		d.Retained = append(d.Retained, key)
	}
	return d
}

// latest returns the last state of each object, in the order of the first ones. It leaves objects empty.
func (s *initialState[T]) latest() []T {
	latest := make([]T, 0, len(s.objects))
	for obj := range s.order.all {
		key := object.KeyOf(obj)
		if last, ok := s.objects[key]; ok {
			latest = append(latest, last)
			delete(s.objects, key)
		}
	}
	return latest
}

// collectedPart is how many objects are collected in one piece, unless there are fewer.
const collectedPart = 1024

// collected are objects in the order in which they were added, in pieces, so that none is moved when more come.
type collected[T object.Object] struct {
	room  int // of the first piece
	parts [][]T
	count int
}

func (c *collected[T]) add(obj T) {
	last := len(c.parts) - 1
	switch {
	case last < 0:
		c.parts = append(c.parts, make([]T, 0, c.room))
		last = 0
	case len(c.parts[last]) >= max(c.room, collectedPart):
		c.parts, c.room = append(c.parts, make([]T, 0, collectedPart)), 0
		last++
	}
	c.parts[last] = append(c.parts[last], obj)
	c.count++
}

// all yields the objects in order.
func (c *collected[T]) all(yield func(T) bool) {
	for _, part := range c.parts {
		for _, obj := range part {
			if !yield(obj) {
				return
			}
		}
	}
}

// slice returns the objects in one piece.
func (c *collected[T]) slice() []T {
	if len(c.parts) == 1 {
		return c.parts[0]
	}
	return slices.Concat(c.parts...)
}

// byKey returns the last object of each key.
func (c *collected[T]) byKey() map[object.Key]T {
	objects := make(map[object.Key]T, c.count)
	for obj := range c.all {
		objects[object.KeyOf(obj)] = obj
	}
	return objects
}
