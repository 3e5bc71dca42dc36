package informer

import (
	"iter"

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

// Collect implements [collect.Store]. It packs each object on arrival, and reuses the stored object if the state is the
// same.
func (s sink[T]) Collect(size int) collect.Collector[T] {
	c := s.contents
	if c.packer == nil {
		return collect.NewWhole(size, func(key object.Key, obj T) (T, bool) {
			held, same := c.same(key, obj)
			return held.whole, same
		})
	}
	return collect.New(size, collect.Form[T, pack.Packed]{Of: c.pack, Key: c.packer.Key, Held: c.packed})
}

// pack returns the packed form of obj. It logs an error and reports false if obj cannot be packed.
func (c *contents[T]) pack(obj T) (pack.Packed, bool) {
	packed, err := c.packer.Pack(obj)
	if err != nil {
		c.log.Error("keep an object", "key", object.KeyOf(obj), "err", err)
	}
	return packed, err == nil
}

// packed returns the packed object of key, and reports whether its state is the state of obj.
func (c *contents[T]) packed(key object.Key, obj T) (pack.Packed, bool) {
	if k, ok := any(obj).(*kept[T]); ok {
		packed := k.packed
		k.packed = ""
		c.spare.Store(k)
		return packed, true
	}
	held, same := c.same(key, obj)
	return held.packed, same
}

// same returns the stored object of key, and reports whether its state is the state of obj.
func (c *contents[T]) same(key object.Key, obj T) (held stored[T], same bool) {
	c.mu.RLock()
	held, ok := c.items.find(key)
	c.mu.RUnlock()
	return held, ok && held.is([]byte(obj.GetUID()), []byte(obj.GetResourceVersion()))
}

// kept is a placeholder for a packed object of the store, in a list that is being collected and in an event for a
// handler that reads only keys. It identifies the object and its state. Its other methods panic.
type kept[T object.Object] struct {
	object.Object
	packed pack.Packed
	packer *pack.Packer[T]
}

func (k *kept[T]) GetNamespace() string       { return k.packer.Key(k.packed).Namespace }
func (k *kept[T]) GetName() string            { return k.packer.Key(k.packed).Name }
func (k *kept[T]) GetUID() types.UID          { return k.packer.UID(k.packed) }
func (k *kept[T]) GetResourceVersion() string { return k.packer.ResourceVersion(k.packed) }

// listed iterates over the objects of a list that c has collected, in its order.
func (c *contents[T]) listed(all collect.State) iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		switch all := all.(type) {
		case *collect.List[T, pack.Packed]:
			for _, packed := range all.Values() {
				if !yield(c.packer.Key(packed), stored[T]{packed: packed, packer: c.packer}) {
					return
				}
			}
		case *collect.List[T, T]:
			for _, obj := range all.Values() {
				if !yield(object.KeyOf(obj), stored[T]{whole: obj}) {
					return
				}
			}
		}
	}
}
