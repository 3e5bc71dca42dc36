package informer

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/collect"
	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reflector"
)

// sink is the queue of an informer. It lets the reflector skip work for objects whose state is already in the store.
type sink[T object.Object] struct {
	*reflector.DeltaFIFO[T]
	contents *contents[T]
}

var _ collect.Store[object.Object] = sink[object.Object]{}

// Known implements [collect.Store].
func (s sink[T]) Known() wire.Known[T] { return s.contents.known() }

// Collect implements [collect.Store].
func (s sink[T]) Collect(size int) collect.Collector[T] {
	if s.contents.packer != nil {
		return newPackedState(s.contents, size)
	}
	return collect.NewWhole(size, func(key object.Key, obj T) (T, bool) {
		held, same := s.contents.same(key, obj)
		return held.whole, same
	})
}

// same returns the stored object of key, and reports whether its state is the state of obj.
func (c *contents[T]) same(key object.Key, obj T) (held stored[T], same bool) {
	c.mu.RLock()
	held, same = c.items.find(key)
	c.mu.RUnlock()
	if c.packer != nil {
		return held, same && held.packed.IsState([]byte(obj.GetUID()), []byte(obj.GetResourceVersion()))
	}
	now := stored[T]{whole: obj}
	return held, same && held.sameObject(&now) && held.sameState(&now)
}

// kept is a placeholder for a packed object of the store, in a list for a [packedState] and in an event for a handler
// that reads only keys. It identifies the object and its state. Its other methods panic.
type kept[T object.Object] struct {
	object.Object
	packed pack.Packed
	packer *pack.Packer[T]
}

func (k *kept[T]) GetNamespace() string { return k.packer.Key(k.packed).Namespace }

func (k *kept[T]) GetName() string { return k.packer.Key(k.packed).Name }

func (k *kept[T]) GetUID() types.UID { return k.packer.UID(k.packed) }

func (k *kept[T]) GetResourceVersion() string { return k.packer.ResourceVersion(k.packed) }

// packedState collects a list for a store of packed objects. It packs each object on arrival, and reuses the packed
// object of the store if the state is the same. It needs no map while the objects arrive in the order of their keys,
// which is the order in which API servers send them.
type packedState[T object.Object] struct {
	store     *contents[T]
	order     []pack.Packed      // in the order of first arrival; "" for removed objects
	last      object.Key         // last key of order, while positions is nil
	positions map[object.Key]int // indexes in order; nil while the keys of order increase and nothing was removed
	removed   int                // number of "" in order
	retained  map[object.Key]bool
}

// newPackedState returns an empty state for store, with capacity for size objects.
func newPackedState[T object.Object](store *contents[T], size int) *packedState[T] {
	return &packedState[T]{
		store:    store,
		order:    make([]pack.Packed, 0, size+size/32), // because some may have been created meanwhile
		retained: make(map[object.Key]bool),
	}
}

// Keep implements [collect.Collector].
func (s *packedState[T]) Keep(key object.Key, obj T) bool {
	if k, ok := any(obj).(*kept[T]); ok {
		s.put(key, k.packed)
		s.store.free(k)
		return true
	}
	held, same := s.store.same(key, obj)
	if same {
		s.put(key, held.packed)
	}
	return same
}

// Set implements [collect.Collector]. If an object cannot be packed, its key is retained.
func (s *packedState[T]) Set(key object.Key, obj T) {
	packed, err := s.store.packer.Pack(obj)
	if err != nil {
		s.store.log.Error("keep an object", "key", key, "err", err)
		s.Retain(key)
		return
	}
	s.put(s.store.packer.Key(packed), packed) // the key must not refer to obj
}

// Retain implements [collect.Collector].
func (s *packedState[T]) Retain(key object.Key) {
	s.Remove(key)
	s.retained[key] = true
}

func (s *packedState[T]) put(key object.Key, packed pack.Packed) {
	delete(s.retained, key)
	if s.positions == nil && (len(s.order) == 0 || precedes(s.last, key)) {
		s.order, s.last = append(s.order, packed), key
		return
	}
	s.locate()
	at, has := s.positions[key]
	if !has {
		s.positions[key] = len(s.order)
		s.order = append(s.order, packed)
		return
	}
	if s.order[at] == "" {
		s.removed--
	}
	s.order[at] = packed
}

// Remove implements [collect.Collector].
func (s *packedState[T]) Remove(key object.Key) {
	delete(s.retained, key)
	if s.positions == nil && (len(s.order) == 0 || precedes(s.last, key)) {
		return
	}
	s.locate()
	if at, has := s.positions[key]; has && s.order[at] != "" {
		s.order[at] = ""
		s.removed++
	}
}

// locate initializes positions.
func (s *packedState[T]) locate() {
	if s.positions == nil {
		s.positions = positions(s.store.packer, s.order)
	}
}

// positions returns the index of each object in order.
func positions[T object.Object](packer *pack.Packer[T], order []pack.Packed) map[object.Key]int {
	at := make(map[object.Key]int, len(order))
	for n, packed := range order {
		if packed != "" {
			at[packer.Key(packed)] = n
		}
	}
	return at
}

// precedes reports whether an API server lists a before b: it compares namespace/name.
func precedes(a, b object.Key) bool {
	common := min(len(a.Namespace), len(b.Namespace))
	switch order := cmp.Compare(a.Namespace[:common], b.Namespace[:common]); {
	case order != 0:
		return order < 0
	case len(a.Namespace) < len(b.Namespace):
		return '/' < b.Namespace[common]
	case len(a.Namespace) > len(b.Namespace):
		return a.Namespace[common] < '/'
	}
	return a.Name < b.Name
}

// State implements [collect.Collector].
func (s *packedState[T]) State() (collect.State, []object.Key) {
	all := &packedList[T]{packer: s.store.packer, order: s.order, positions: s.positions}
	if s.removed > 0 {
		all.order = slices.DeleteFunc(s.order, func(packed pack.Packed) bool { return packed == "" })
		all.positions = nil // the objects have moved
	}
	return all, slices.Collect(maps.Keys(s.retained))
}

// listed holds the objects of a list in the form in which the store keeps them.
type listed[T object.Object] interface {
	collect.State
	has(key object.Key) bool
	// all returns the objects in the order of the list.
	all() iter.Seq2[object.Key, stored[T]]
}

// listed returns the objects of d, which is a complete list that c has collected.
func (c *contents[T]) listed(d reflector.Delta[T]) listed[T] {
	if packed, ok := d.Stored.(*packedList[T]); ok {
		return packed
	}
	return wholeList[T]{d.Stored.(*collect.Objects[T])}
}

// wholeList holds objects that are not packed.
type wholeList[T object.Object] struct{ *collect.Objects[T] }

func (w wholeList[T]) has(key object.Key) bool {
	_, has := w.ByKey[key]
	return has
}

func (w wholeList[T]) all() iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		for _, obj := range w.InOrder {
			if !yield(object.KeyOf(obj), stored[T]{whole: obj}) {
				return
			}
		}
	}
}

// packedList holds packed objects.
type packedList[T object.Object] struct {
	packer    *pack.Packer[T]
	order     []pack.Packed
	positions map[object.Key]int // indexes in order; nil before the first call of has
}

// Len implements [collect.State].
func (p *packedList[T]) Len() int { return len(p.order) }

// Keys implements [collect.State].
func (p *packedList[T]) Keys() iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for _, packed := range p.order {
			if !yield(p.packer.Key(packed)) {
				return
			}
		}
	}
}

func (p *packedList[T]) has(key object.Key) bool {
	if p.positions == nil {
		p.positions = positions(p.packer, p.order)
	}
	_, has := p.positions[key]
	return has
}

func (p *packedList[T]) all() iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		for _, packed := range p.order {
			if !yield(p.packer.Key(packed), stored[T]{packed: packed, packer: p.packer}) {
				return
			}
		}
	}
}

// added returns an Added event for every object, in the order of the list.
func (p *packedList[T]) added() batch[T] {
	return batch[T]{packed: &packedEvents[T]{packed: p.order, packer: p.packer, example: Event[T]{Type: Added}}}
}
