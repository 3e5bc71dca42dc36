package informer

import "github.com/kctrl-dev/kctrl/runtime/object"

// atOnce is how many events a listener takes at a time. These are delivered as they are; all others can still be folded
// into later ones.
const atOnce = 8

// outbox is what a listener has to deliver: events, in the batches in which they came, which all listeners share, and
// the mark at which it is synced. It compacts itself as a [backlog] does. It is guarded by its owner.
type outbox[T object.Object] struct {
	batches []batch[T]
	events  int // in all batches
	limit   int // compact when more than limit events wait; 0 is compactAbove
}

func (o *outbox[T]) empty() bool { return len(o.batches) == 0 }

// push appends the events of b, and the mark if initial is set, and returns by how many events that compacted the whole. Events
// that come together are probably of different keys, so there is room for as many again.
func (o *outbox[T]) push(b batch[T], initial bool) int {
	if count := b.len(); count > 0 {
		o.batches = append(o.batches, b.own())
		o.events += count
		o.limit = max(o.limit, 2*count)
	}
	if initial {
		o.batches = append(o.batches, batch[T]{})
	}
	if o.events <= max(o.limit, compactAbove) {
		return 0
	}
	before := o.events
	o.compact()
	o.limit = 2 * o.events
	return before - o.events
}

// take removes what is next: some events, or the mark.
func (o *outbox[T]) take() (events []Event[T], synced bool) {
	first := &o.batches[0]
	synced = first.len() == 0
	if !synced {
		events = first.take(atOnce)
	}
	o.events -= len(events)
	if first.len() == 0 {
		*first = batch[T]{}
		o.batches = o.batches[1:]
	}
	if len(o.batches) == 0 {
		*o = outbox[T]{}
	}
	return events, synced
}

// compact folds the events of each key.
func (o *outbox[T]) compact() {
	all := make([]notice[T], 0, o.events+1)
	for _, b := range o.batches {
		if b.len() == 0 {
			all = append(all, notice[T]{synced: true})
			continue
		}
		for events := range b.chunks() {
			for _, e := range events {
				all = append(all, notice[T]{event: e})
			}
		}
	}
	*o = outbox[T]{}
	var run []Event[T]
	end := func() {
		if len(run) > 0 {
			o.batches = append(o.batches, batch[T]{events: run})
			o.events += len(run)
			run = nil
		}
	}
	for _, one := range compact(all) {
		if !one.synced {
			run = append(run, one.event)
			continue
		}
		end()
		o.batches = append(o.batches, batch[T]{})
	}
	end()
}

// notice is one thing to deliver: an event, or the mark at which it is synced.
type notice[T object.Object] struct {
	event  Event[T]
	synced bool
}

func (n notice[T]) slot() (object.Key, slotKind) {
	if n.synced {
		return object.Key{}, markSlot
	}
	return object.KeyOf(n.event.Object), edgeSlot
}

// fold relies on the events of a key being a sequence in which each one starts where the one before it ended: an Added
// is of an object that the handler does not have, so together with a Deleted it comes to nothing.
func (n notice[T]) fold(next notice[T]) (notice[T], folding) {
	switch {
	case n.event.Type == Deleted && next.event.Type == Deleted:
		return n, keepMerged
	case n.event.Type == Deleted:
		return n, keepBoth
	case next.event.Type != Deleted:
		n.event.Object, n.event.Merged = next.event.Object, true
		return n, keepMerged
	case n.event.Type == Added:
		return n, keepNone
	}
	next.event.Merged = true
	return next, keepMerged
}
