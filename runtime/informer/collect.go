package informer

import (
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

// sink is the queue of an informer, for a reflector that spares the work for what the store has.
type sink[T object.Object] struct {
	*reflector.DeltaFIFO[T]
	contents *contents[T]
}

var _ collect.Store[object.Object] = sink[object.Object]{}

// Known implements [collect.Store].
func (s sink[T]) Known() wire.Known[T] { return s.contents.known() }

// Collect implements [collect.Store].
func (s sink[T]) Collect(size int) collect.Collector[T] {
	if s.contents.packs {
		return newPackedState(s.contents, size)
	}
	return collect.NewWhole(size, func(key object.Key, obj T) (T, bool) {
		held, same := s.contents.same(key, obj)
		return held.whole, same
	})
}

// same returns what c has of key, if that is the state that obj is of.
func (c *contents[T]) same(key object.Key, obj T) (held stored[T], same bool) {
	c.mu.RLock()
	held, same = c.items.find(key)
	c.mu.RUnlock()
	if c.packs {
		return held, same && held.packed.IsState([]byte(obj.GetUID()), []byte(obj.GetResourceVersion()))
	}
	now := stored[T]{whole: obj}
	return held, same && held.sameObject(&now) && held.sameState(&now)
}

// packedState gathers the whole state of a source for a store of packed objects. It packs each when it arrives, so that
// there is never more than one whole object for each that is being decoded.
type packedState[T object.Object] struct {
	store    *contents[T]
	objects  items[T]
	retained map[object.Key]bool
	order    []object.Key // of objects; after a removal also others, and some twice
	removed  bool
}

// kept is a placeholder for an object that the store has packed: in a list, for a [packedState], and in an event, for a
// handler that reads only keys. It identifies the object and its state; its other methods panic.
type kept[T object.Object] struct {
	object.Object
	held stored[T]
}

func (k *kept[T]) GetNamespace() string { return k.held.packer.Key(k.held.packed).Namespace }

func (k *kept[T]) GetName() string { return k.held.packer.Key(k.held.packed).Name }

func (k *kept[T]) GetUID() types.UID { return k.held.packer.UID(k.held.packed) }

func (k *kept[T]) GetResourceVersion() string { return k.held.packer.ResourceVersion(k.held.packed) }

// newPackedState returns an empty state for store, with room for that many objects.
func newPackedState[T object.Object](store *contents[T], size int) *packedState[T] {
	store.mu.RLock()
	defer store.mu.RUnlock()
	return &packedState[T]{
		store:    store,
		objects:  store.items.empty(),
		retained: make(map[object.Key]bool),
		order:    make([]object.Key, 0, size),
	}
}

// Keep implements [collect.Collector].
func (s *packedState[T]) Keep(key object.Key, obj T) bool {
	if k, ok := any(obj).(*kept[T]); ok {
		s.put(key, k.held)
		return true
	}
	held, same := s.store.same(key, obj)
	if same {
		s.put(key, held)
	}
	return same
}

// Set implements [collect.Collector]. An object that cannot be packed is retained.
func (s *packedState[T]) Set(key object.Key, obj T) {
	form, err := s.objects.form(obj)
	if err != nil {
		s.store.log.Error("keep an object", "key", key, "err", err)
		s.Retain(key)
		return
	}
	s.put(key, form)
}

// Retain implements [collect.Collector].
func (s *packedState[T]) Retain(key object.Key) {
	s.Remove(key)
	s.retained[key] = true
}

func (s *packedState[T]) put(key object.Key, form stored[T]) {
	delete(s.retained, key)
	if _, has := s.objects.find(key); !has {
		s.order = append(s.order, key)
	}
	s.objects.put(key, form)
}

// Remove implements [collect.Collector].
func (s *packedState[T]) Remove(key object.Key) {
	_, has := s.objects.find(key)
	s.removed = s.removed || has
	s.objects.remove(key)
	delete(s.retained, key)
}

// State implements [collect.Collector].
func (s *packedState[T]) State() (collect.State, []object.Key) {
	all := &listed[T]{objects: s.objects, order: s.order}
	if s.removed {
		all.order = s.latest()
	}
	return all, slices.Collect(maps.Keys(s.retained))
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

// Len implements [collect.State], as Keys does. Only packed objects come as a listed one.
func (l *listed[T]) Len() int { return len(l.order) }

func (l *listed[T]) Keys() iter.Seq[object.Key] { return slices.Values(l.order) }

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

// listed returns what d, a whole state that c has collected, has.
func (c *contents[T]) listed(d reflector.Delta[T]) *listed[T] {
	if all, packed := d.Stored.(*listed[T]); packed {
		return all
	}
	all := d.Stored.(*collect.Objects[T])
	objects := &wholeItems[T]{newKeyed[T]()}
	for key, obj := range all.ByKey {
		objects.set(key, obj)
	}
	return &listed[T]{objects: objects, whole: all.InOrder}
}

// added returns an Added for every object, which is packed, in the order of the list.
func (l *listed[T]) added() batch[T] {
	s := &packedEvents[T]{packed: make([]pack.Packed, 0, len(l.order)), example: Event[T]{Type: Added}}
	for _, obj := range l.all() {
		s.packed, s.packer = append(s.packed, obj.packed), obj.packer
	}
	return batch[T]{packed: s}
}
