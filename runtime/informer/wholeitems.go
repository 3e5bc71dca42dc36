package informer

import (
	"iter"
	"maps"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// wholeItems are objects as they are. Whoever reads one shares it with the store.
type wholeItems[T object.Object] map[object.Key]T

func (w wholeItems[T]) len() int { return len(w) }

func (w wholeItems[T]) find(key object.Key) (resting[T], bool) {
	obj, ok := w[key]
	return resting[T]{whole: obj}, ok
}

func (w wholeItems[T]) rest(obj T) (resting[T], error) { return resting[T]{whole: obj}, nil }

func (w wholeItems[T]) put(key object.Key, obj resting[T]) object.Key {
	w[key] = obj.whole
	return key
}

func (w wholeItems[T]) remove(key object.Key) { delete(w, key) }

func (w wholeItems[T]) keys() iter.Seq[object.Key] { return maps.Keys(w) }

func (w wholeItems[T]) all() iter.Seq2[object.Key, resting[T]] {
	return func(yield func(object.Key, resting[T]) bool) {
		for key, obj := range w {
			if !yield(key, resting[T]{whole: obj}) {
				return
			}
		}
	}
}

func (w wholeItems[T]) snapshot(keys iter.Seq[object.Key], size int) iter.Seq2[object.Key, T] {
	return snapshot(w, keys, size, func(obj T) T { return obj })
}

func (w wholeItems[T]) pick(keys iter.Seq[object.Key]) iter.Seq[T] {
	return pick(w, keys, func(obj T) T { return obj })
}

func (w wholeItems[T]) stored(example Event[T]) batch[T] {
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
