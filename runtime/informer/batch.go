package informer

import (
	"iter"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// batch is events that come together or, without any, the mark at which a listener is synced. The events are shared, and
// not changed any more.
type batch[T object.Object] struct {
	events []Event[T]
	asleep *sleepers[T] // further events; nil is none
}

func (b batch[T]) len() int {
	if b.asleep == nil {
		return len(b.events)
	}
	return len(b.events) + len(b.asleep.packed)
}

// markInitial marks the events of a first list.
func (b batch[T]) markInitial() {
	for n := range b.events {
		b.events[n].Initial = b.events[n].Type == Added
	}
	if b.asleep != nil {
		b.asleep.example.Initial = b.asleep.example.Type == Added
	}
}

// own returns b for one who takes events from it.
func (b batch[T]) own() batch[T] {
	if b.asleep != nil {
		asleep := *b.asleep
		b.asleep = &asleep
	}
	return b
}

// take removes the first events, at most that many, from a batch of one's own.
func (b *batch[T]) take(most int) []Event[T] {
	if b.asleep != nil && len(b.events) == 0 {
		return b.asleep.take(most)
	}
	count := min(len(b.events), most)
	events := b.events[:count:count]
	b.events = b.events[count:]
	return events
}

// chunks returns the events, at least one time some or none, so that few objects are awake at a time. It reports for
// each whether it is the last.
func (b batch[T]) chunks() iter.Seq2[[]Event[T], bool] {
	return func(yield func([]Event[T], bool) bool) {
		if b.asleep == nil {
			yield(b.events, true)
			return
		}
		for rest := b.own(); ; {
			events := rest.take(maxBatch)
			if last := rest.len() == 0; !yield(events, last) || last {
				return
			}
		}
	}
}
