// Package collect assembles a complete list for a reflector, in the form in which a store keeps the objects.
package collect

import (
	"iter"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// State is a complete list. It contains each object once, in the order in which the source first sent the objects.
type State interface {
	Len() int
	Keys() iter.Seq[object.Key]
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

// Objects is a list of unpacked objects.
type Objects[T object.Object] struct {
	ByKey   map[object.Key]T
	InOrder []T
}

// Len implements [State].
func (o *Objects[T]) Len() int { return len(o.InOrder) }

// Keys implements [State].
func (o *Objects[T]) Keys() iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for _, obj := range o.InOrder {
			if !yield(object.KeyOf(obj)) {
				return
			}
		}
	}
}

// Whole is a [Collector] of [Objects]. A source usually sends each object once, so Whole only appends. A growing map
// would need twice the memory of a map that is created with its final size.
type Whole[T object.Object] struct {
	held     func(key object.Key, obj T) (T, bool) // returns the store's object in the state of obj; may be nil
	order    collected[T]                          // all received states, including replaced ones
	objects  map[object.Key]T                      // the last states, once an object was removed; nil before
	retained map[object.Key]bool
}

// NewWhole returns an empty collector with capacity for size objects. It reuses objects that held, if set, returns.
func NewWhole[T object.Object](size int, held func(key object.Key, obj T) (T, bool)) *Whole[T] {
	return &Whole[T]{held: held, order: collected[T]{room: size}, retained: map[object.Key]bool{}}
}

// Keep implements [Collector].
func (w *Whole[T]) Keep(key object.Key, obj T) bool {
	if w.held == nil {
		return false
	}
	held, ok := w.held(key, obj)
	if ok {
		w.Set(key, held)
	}
	return ok
}

// Set implements [Collector].
func (w *Whole[T]) Set(key object.Key, obj T) {
	delete(w.retained, key)
	w.order.add(obj)
	if w.objects != nil {
		w.objects[key] = obj
	}
}

// Retain implements [Collector].
func (w *Whole[T]) Retain(key object.Key) {
	w.Remove(key)
	w.retained[key] = true
}

// Remove implements [Collector].
func (w *Whole[T]) Remove(key object.Key) {
	if w.objects == nil {
		w.objects = w.order.byKey()
	}
	delete(w.objects, key)
	delete(w.retained, key)
}

// State implements [Collector].
func (w *Whole[T]) State() (State, []object.Key) {
	if w.objects == nil {
		w.objects = w.order.byKey()
	}
	all := &Objects[T]{ByKey: w.objects}
	if w.order.count == len(w.objects) {
		all.InOrder = w.order.slice()
	} else {
		all.InOrder = w.latest()
	}
	return all, slices.Collect(maps.Keys(w.retained))
}

// latest returns the last state of each object, in the order of first arrival.
func (w *Whole[T]) latest() []T {
	latest := make([]T, 0, len(w.objects))
	rest := maps.Clone(w.objects)
	for obj := range w.order.all {
		key := object.KeyOf(obj)
		if last, ok := rest[key]; ok {
			latest = append(latest, last)
			delete(rest, key)
		}
	}
	return latest
}

// collectedPart is the number of objects per part, unless there are fewer.
const collectedPart = 1024

// collected holds objects in the order of addition. It consists of parts, so that growth moves no objects.
type collected[T object.Object] struct {
	room  int // capacity of the first part
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

// slice returns the objects as one slice.
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
