package informer

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// items are the objects of a store by their keys, as the store has them: whole, or packed.
type items[T object.Object] interface {
	len() int
	find(key object.Key) (stored[T], bool)
	// form returns obj as it is stored. It changes nothing.
	form(obj T) (stored[T], error)
	// put makes obj the object of key, and returns the key with the strings that the object keeps alive anyway.
	put(key object.Key, obj stored[T]) object.Key
	remove(key object.Key)
	keys() iter.Seq[object.Key]
	// all returns what there is at the time of the iteration.
	all() iter.Seq2[object.Key, stored[T]]
	// snapshot returns the objects whose keys and labels are selected, of all or, unless that is nil, of those named, which
	// exist. A nil selector, or function, selects all. The iteration needs no lock.
	snapshot(named iter.Seq[object.Key], selector labels.Selector, selected func(object.Key) bool) iter.Seq2[object.Key, T]
	// pick returns the objects of those keys, which exist, in that order. The iteration needs no lock.
	pick(keys iter.Seq[object.Key]) iter.Seq[T]
	// events returns those that are told of all there is now, like example.
	events(example Event[T]) batch[T]
	// empty returns items of the same form, with room for that many.
	empty(size int) items[T]
}

// stored is an object as a store has it.
type stored[T object.Object] struct {
	whole  T // also that of a packed object, once it was asked for
	packed pack.Packed
	packer *pack.Packer[T] // of packed, until whole is there; nil for one that is whole
}

// object returns the object itself: the one in the store, or one of the caller's own.
func (r *stored[T]) object() T {
	if r.packer != nil {
		r.whole, r.packer = unpack(r.packer, r.packed), nil
	}
	return r.whole
}

// sameObject reports whether r and other, which have one key and one form, are states of one object and not of one that
// was deleted and created again.
func (r *stored[T]) sameObject(other *stored[T]) bool {
	if r.packed != "" {
		return r.packed.SameObject(other.packed)
	}
	return r.whole.GetUID() == other.whole.GetUID()
}

// sameState reports whether r and other, which are states of one object, are one state.
func (r *stored[T]) sameState(other *stored[T]) bool {
	if r.packed != "" {
		return r.packed.SameState(other.packed)
	}
	version := r.whole.GetResourceVersion()
	return version != "" && version == other.whole.GetResourceVersion()
}

// sameContent reports whether r and other, of one form, are certainly equal.
func (r *stored[T]) sameContent(other *stored[T]) bool {
	if r.packed != "" {
		return r.packed == other.packed
	}
	return reflect.DeepEqual(r.whole, other.whole)
}

// is reports whether r is the state of the object that has that UID and that resource version.
func (r *stored[T]) is(uid, version []byte) bool {
	if r.packed != "" {
		return r.packed.IsState(uid, version)
	}
	return string(r.whole.GetUID()) == string(uid) && r.whole.GetResourceVersion() == string(version)
}

// unpack returns a new object of what the packer has packed.
func unpack[T object.Object](packer *pack.Packer[T], packed pack.Packed) T {
	obj, err := packer.Unpack(packed)
	if err != nil {
		panic(fmt.Sprintf("informer: what was packed cannot be unpacked: %v", err))
	}
	return obj
}

// newItems returns no items, of the form that packing says: nil is whole.
func newItems[T object.Object](packing *Packing[T]) items[T] {
	if packing == nil {
		return wholeItems[T]{}
	}
	return packedItems[T]{make(map[object.Key]pack.Packed), packing.packer}
}

// objects returns what there is in i at the time of the iteration.
func objects[T object.Object](i items[T]) iter.Seq2[object.Key, T] {
	return func(yield func(object.Key, T) bool) {
		for key, obj := range i.all() {
			if !yield(key, obj.object()) {
				return
			}
		}
	}
}

// entry is one of what a store keeps.
type entry[R any] struct {
	key object.Key
	obj R
}

// entries returns what m has, all or for the keys that are named, where selected has it.
func entries[R any](m map[object.Key]R, named iter.Seq[object.Key], selected func(object.Key) bool) []entry[R] {
	if named == nil && selected == nil {
		all := make([]entry[R], 0, len(m))
		for key, obj := range m {
			all = append(all, entry[R]{key, obj})
		}
		return all
	}
	// Not by its keys if it may be by itself: to look each up takes as long again.
	from := maps.All(m)
	if named != nil {
		from = lookups(m, named)
	}
	var some []entry[R]
	for key, obj := range from {
		if selected == nil || selected(key) {
			some = append(some, entry[R]{key, obj})
		}
	}
	return some
}

// lookups returns what m has for keys, which are in it.
func lookups[R any](m map[object.Key]R, keys iter.Seq[object.Key]) iter.Seq2[object.Key, R] {
	return func(yield func(object.Key, R) bool) {
		for key := range keys {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}

// pick returns what m has for keys, which are in it, each opened when it is come to.
func pick[R any, T object.Object](m map[object.Key]R, keys iter.Seq[object.Key], open func(R) T) iter.Seq[T] {
	var picked []R
	for key := range keys {
		picked = append(picked, m[key])
	}
	return func(yield func(T) bool) {
		for _, obj := range picked {
			if !yield(open(obj)) {
				return
			}
		}
	}
}

// wholeItems are objects as they are. Whoever reads one shares it with the store.
type wholeItems[T object.Object] map[object.Key]T

func (w wholeItems[T]) len() int { return len(w) }

func (w wholeItems[T]) find(key object.Key) (stored[T], bool) {
	obj, ok := w[key]
	return stored[T]{whole: obj}, ok
}

func (w wholeItems[T]) form(obj T) (stored[T], error) { return stored[T]{whole: obj}, nil }

func (w wholeItems[T]) put(key object.Key, obj stored[T]) object.Key {
	w[key] = obj.whole
	return key
}

func (w wholeItems[T]) remove(key object.Key) { delete(w, key) }

func (w wholeItems[T]) keys() iter.Seq[object.Key] { return maps.Keys(w) }

func (w wholeItems[T]) all() iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		for key, obj := range w {
			if !yield(key, stored[T]{whole: obj}) {
				return
			}
		}
	}
}

func (w wholeItems[T]) snapshot(
	named iter.Seq[object.Key], selector labels.Selector, selected func(object.Key) bool,
) iter.Seq2[object.Key, T] {
	entries := entries(w, named, selected)
	return func(yield func(object.Key, T) bool) {
		for _, e := range entries {
			if selector != nil && !selector.Matches(labels.Set(e.obj.GetLabels())) {
				continue
			}
			if !yield(e.key, e.obj) {
				return
			}
		}
	}
}

func (w wholeItems[T]) pick(keys iter.Seq[object.Key]) iter.Seq[T] {
	return pick(w, keys, func(obj T) T { return obj })
}

func (w wholeItems[T]) events(example Event[T]) batch[T] {
	events := make([]Event[T], 0, len(w))
	for _, obj := range w {
		events = append(events, about(obj, example))
	}
	return batch[T]{events: events}
}

func (w wholeItems[T]) empty(size int) items[T] { return make(wholeItems[T], size) }

// about returns an event like example about obj.
func about[T object.Object](obj T, example Event[T]) Event[T] {
	example.Object = obj
	if example.Type == Updated {
		example.Old = obj
	}
	return example
}

// Packing is how the stores of informers keep objects of one Go type packed. It is safe for concurrent use. The informers of
// one type may share it, and then share what repeats in their objects.
type Packing[T object.Object] struct{ packer *pack.Packer[T] }

// NewPacking returns the Packing of objects that have the Go type of prototype. T may be that pointer type or an interface
// such as object.Object. It fails when the type has a field that cannot be packed: a channel, a function, or a struct with
// unexported fields that does not encode itself as JSON.
func NewPacking[T object.Object](prototype T) (*Packing[T], error) {
	packer, err := pack.New(prototype)
	if err != nil {
		return nil, err
	}
	return &Packing[T]{packer}, nil
}

// packedItems are objects that are packed. Whoever reads one gets an object of his own. The strings of a key are part of
// the packed object.
type packedItems[T object.Object] struct {
	packed map[object.Key]pack.Packed
	packer *pack.Packer[T]
}

func (p packedItems[T]) len() int { return len(p.packed) }

func (p packedItems[T]) find(key object.Key) (stored[T], bool) {
	packed, ok := p.packed[key]
	return stored[T]{packed: packed, packer: p.packer}, ok
}

func (p packedItems[T]) form(obj T) (stored[T], error) {
	packed, err := p.packer.Pack(obj)
	return stored[T]{whole: obj, packed: packed}, err
}

func (p packedItems[T]) put(key object.Key, obj stored[T]) object.Key {
	delete(p.packed, key) // the strings of the old one are part of what was packed before
	key = p.packer.Key(obj.packed)
	p.packed[key] = obj.packed
	return key
}

func (p packedItems[T]) remove(key object.Key) { delete(p.packed, key) }

func (p packedItems[T]) keys() iter.Seq[object.Key] { return maps.Keys(p.packed) }

func (p packedItems[T]) all() iter.Seq2[object.Key, stored[T]] {
	return func(yield func(object.Key, stored[T]) bool) {
		for key, packed := range p.packed {
			if !yield(key, stored[T]{packed: packed, packer: p.packer}) {
				return
			}
		}
	}
}

func (p packedItems[T]) snapshot(
	named iter.Seq[object.Key], selector labels.Selector, selected func(object.Key) bool,
) iter.Seq2[object.Key, T] {
	entries := entries(p.packed, named, selected)
	return func(yield func(object.Key, T) bool) {
		var of pack.Labels
		for _, e := range entries {
			if selector != nil {
				if p.packer.LabelsOf(e.obj, &of); !selector.Matches(&of) {
					continue
				}
			}
			if !yield(e.key, p.unpack(e.obj)) {
				return
			}
		}
	}
}

func (p packedItems[T]) pick(keys iter.Seq[object.Key]) iter.Seq[T] {
	return pick(p.packed, keys, p.unpack)
}

func (p packedItems[T]) unpack(packed pack.Packed) T { return unpack(p.packer, packed) }

func (p packedItems[T]) events(example Event[T]) batch[T] {
	return batch[T]{packed: &packedEvents[T]{
		packed:  slices.AppendSeq(make([]pack.Packed, 0, len(p.packed)), maps.Values(p.packed)),
		packer:  p.packer,
		example: example,
	}}
}

func (p packedItems[T]) empty(size int) items[T] {
	return packedItems[T]{make(map[object.Key]pack.Packed, size), p.packer}
}

// packedEvents are events about packed objects, which are unpacked when the events are delivered.
type packedEvents[T object.Object] struct {
	packed  []pack.Packed
	packer  *pack.Packer[T]
	example Event[T]
}

// take removes the first events, at most that many.
func (s *packedEvents[T]) take(most int) []Event[T] {
	count := min(most, len(s.packed))
	events := make([]Event[T], count)
	for i, packed := range s.packed[:count] {
		events[i] = about(unpack(s.packer, packed), s.example)
	}
	s.packed = s.packed[count:]
	return events
}
