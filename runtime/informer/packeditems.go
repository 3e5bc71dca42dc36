package informer

import (
	"iter"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/runtime/internal/pack"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

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

func (p packedItems[T]) find(key object.Key) (resting[T], bool) {
	packed, ok := p.packed[key]
	return resting[T]{packed: packed, packer: p.packer}, ok
}

func (p packedItems[T]) rest(obj T) (resting[T], error) {
	packed, err := p.packer.Pack(obj)
	return resting[T]{whole: obj, packed: packed}, err
}

func (p packedItems[T]) put(key object.Key, obj resting[T]) object.Key {
	delete(p.packed, key) // the strings of the old one are part of what was packed before
	key = p.packer.Key(obj.packed)
	p.packed[key] = obj.packed
	return key
}

func (p packedItems[T]) remove(key object.Key) { delete(p.packed, key) }

func (p packedItems[T]) keys() iter.Seq[object.Key] { return maps.Keys(p.packed) }

func (p packedItems[T]) all() iter.Seq2[object.Key, resting[T]] {
	return func(yield func(object.Key, resting[T]) bool) {
		for key, packed := range p.packed {
			if !yield(key, resting[T]{packed: packed, packer: p.packer}) {
				return
			}
		}
	}
}

func (p packedItems[T]) snapshot(keys iter.Seq[object.Key], size int) iter.Seq2[object.Key, T] {
	return snapshot(p.packed, keys, size, p.wake)
}

func (p packedItems[T]) pick(keys iter.Seq[object.Key]) iter.Seq[T] {
	return pick(p.packed, keys, p.wake)
}

func (p packedItems[T]) wake(packed pack.Packed) T { return unpack(p.packer, packed) }

func (p packedItems[T]) stored(example Event[T]) batch[T] {
	return batch[T]{asleep: &sleepers[T]{
		packed:  slices.AppendSeq(make([]pack.Packed, 0, len(p.packed)), maps.Values(p.packed)),
		packer:  p.packer,
		example: example,
	}}
}

func (p packedItems[T]) empty(size int) items[T] {
	return packedItems[T]{make(map[object.Key]pack.Packed, size), p.packer}
}

// sleepers are events about packed objects, which are unpacked when the events are delivered.
type sleepers[T object.Object] struct {
	packed  []pack.Packed
	packer  *pack.Packer[T]
	example Event[T]
}

// take removes the first events, at most that many.
func (s *sleepers[T]) take(most int) []Event[T] {
	count := min(most, len(s.packed))
	events := make([]Event[T], count)
	for i, packed := range s.packed[:count] {
		events[i] = about(unpack(s.packer, packed), s.example)
	}
	s.packed = s.packed[count:]
	return events
}
