// Package collect assembles a complete list for a reflector, in the form in which a store keeps the objects.
package collect

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// State is a complete list. It contains each object once, in the order in which the source first sent the objects.
type State interface {
	Len() int
	Has(key object.Key) bool
}

// Store is the sink of a reflector. It contains the objects of earlier deltas.
type Store[T object.Object] interface {
	// Known returns a function that finds objects that the decoder can reuse. If the result is nil, there are none.
	Known() wire.Known[T]
	// Collect returns an empty collector with capacity for size objects.
	Collect(size int) Collector[T]
}

// Collector assembles a complete list from the objects that a source sends.
type Collector[T object.Object] interface {
	// Keep reuses the store's object of key if its state is the state of obj, and reports whether it is.
	Keep(key object.Key, obj T) bool
	// Set sets the object of key.
	Set(key object.Key, obj T)
	// Retain records that the object of key exists but cannot be decoded. The store keeps the state that it has.
	Retain(key object.Key)
	// Remove removes the object of key.
	Remove(key object.Key)
	// State returns the list, and the keys that were retained. No method may be called after it.
	State() (all State, retained []object.Key)
}

// Form is the form R in which a store keeps objects of type T.
type Form[T object.Object, R any] struct {
	// Of returns an object in this form. It reports false if that is impossible.
	Of func(obj T) (R, bool)
	// Key returns the key of an object.
	Key func(R) object.Key
	// Held returns the store's object of key, and reports whether its state is the state of obj. Nil means no store.
	Held func(key object.Key, obj T) (R, bool)
}

// List is a [Collector], and the [State] that it has collected. It needs no map while the objects arrive in the order
// of their keys, which is the order in which API servers send them.
type List[T object.Object, R any] struct {
	form      Form[T, R]
	order     []R                // in the order of first arrival, including removed objects
	positions map[object.Key]int // indexes in order; nil while the keys of order increase
	last      object.Key         // the last key of order, and the highest while positions is nil
	removed   map[int]bool       // indexes of removed objects in order
	retained  map[object.Key]bool
}

// New returns an empty list with capacity for size objects.
func New[T object.Object, R any](size int, form Form[T, R]) *List[T, R] {
	return &List[T, R]{
		form:     form,
		order:    make([]R, 0, size+size/32), // because some may have been created meanwhile
		removed:  map[int]bool{},
		retained: map[object.Key]bool{},
	}
}

// NewWhole returns an empty list of unpacked objects; see [Form] for held.
func NewWhole[T object.Object](size int, held func(key object.Key, obj T) (T, bool)) *List[T, T] {
	return New(size, Form[T, T]{
		Of:   func(obj T) (T, bool) { return obj, true },
		Key:  func(obj T) object.Key { return object.KeyOf(obj) },
		Held: held,
	})
}

// Keep implements [Collector].
func (l *List[T, R]) Keep(key object.Key, obj T) bool {
	if l.form.Held == nil {
		return false
	}
	held, same := l.form.Held(key, obj)
	if same {
		l.put(key, held)
	}
	return same
}

// Set implements [Collector]. If the store cannot keep the object, its key is retained.
func (l *List[T, R]) Set(key object.Key, obj T) {
	if value, ok := l.form.Of(obj); ok {
		l.put(l.form.Key(value), value) // key may keep obj alive
	} else {
		l.Retain(key)
	}
}

// Retain implements [Collector].
func (l *List[T, R]) Retain(key object.Key) {
	l.Remove(key)
	l.retained[key] = true
}

// Remove implements [Collector].
func (l *List[T, R]) Remove(key object.Key) {
	delete(l.retained, key)
	if at, has := l.find(key); has {
		l.removed[at] = true
	}
}

func (l *List[T, R]) put(key object.Key, value R) {
	delete(l.retained, key)
	if at, has := l.find(key); has {
		l.order[at] = value
		delete(l.removed, at)
		return
	}
	if l.positions != nil {
		l.positions[key] = len(l.order)
	}
	l.order, l.last = append(l.order, value), key
}

// find returns the index of key in order, and whether order has it.
func (l *List[T, R]) find(key object.Key) (at int, has bool) {
	if l.positions == nil {
		if len(l.order) == 0 || precedes(l.last, key) {
			return 0, false
		}
		l.locate()
	}
	at, has = l.positions[key]
	return at, has
}

// locate sets positions to the indexes in order.
func (l *List[T, R]) locate() {
	l.positions = make(map[object.Key]int, len(l.order))
	for n, value := range l.order {
		l.positions[l.form.Key(value)] = n
	}
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

// State implements [Collector].
func (l *List[T, R]) State() (State, []object.Key) {
	if len(l.removed) > 0 {
		var kept []R
		for n, value := range l.order {
			if !l.removed[n] {
				kept = append(kept, value)
			}
		}
		l.order = kept
		l.locate()
	}
	return l, slices.Collect(maps.Keys(l.retained))
}

// Len implements [State].
func (l *List[T, R]) Len() int { return len(l.order) }

// Has implements [State].
func (l *List[T, R]) Has(key object.Key) bool {
	_, has := l.find(key)
	return has
}

// Values returns the objects in order. The caller must not modify the slice.
func (l *List[T, R]) Values() []R { return l.order }
