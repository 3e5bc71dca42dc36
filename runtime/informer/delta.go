package informer

import (
	"iter"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Delta is one step from a state of the source to a later one.
type Delta[T object.Object] struct {
	// Type says which of the fields below are set.
	Type EventType
	// Key is the key of the object of Added, Updated and Deleted. Push fills it in from Object.
	Key object.Key
	// Object is the new state for Added and Updated, the last one for Deleted.
	Object T
	// FinalStateUnknown marks a Deleted without Object: the receiver has the last state that is known.
	FinalStateUnknown bool
	// Merged says that other deltas of the object were folded into this one.
	Merged bool
	// Objects is, for Replaced, all there is.
	Objects []T
	// Retained are, for Replaced, the keys of objects that exist too but could not be read: what is known of them stays.
	Retained []object.Key
	// ResourceVersion is how far the source has come with this delta. It is empty where that is not known.
	ResourceVersion string

	// byKey has, for Replaced, Objects by their keys, unless it is nil. The receiver may keep and change it.
	byKey map[object.Key]T
	// rested has, for Replaced, what Objects would have, if that rests in another form at the receiver.
	rested *listed[T]
}

// Deltas are successive steps, oldest first.
type Deltas[T object.Object] []Delta[T]

// count returns the number of objects of a Replaced.
func (d Delta[T]) count() int {
	if d.rested != nil {
		return len(d.rested.order)
	}
	return len(d.Objects)
}

// listed returns the keys of the objects of a Replaced.
func (d Delta[T]) listed() iter.Seq[object.Key] {
	return func(yield func(object.Key) bool) {
		for _, obj := range d.Objects {
			if !yield(object.KeyOf(obj)) {
				return
			}
		}
		if d.rested == nil {
			return
		}
		for _, key := range d.rested.order {
			if !yield(key) {
				return
			}
		}
	}
}

func (d Delta[T]) slot() (object.Key, slotKind) {
	switch d.Type {
	case Added, Updated, Deleted:
		return d.Key, edgeSlot
	case Replaced:
		return object.Key{}, barrierSlot
	}
	return object.Key{}, markSlot
}

// fold keeps the resource version of the earlier delta: it stands in that one's place, before changes of other objects
// that are still to come.
func (d Delta[T]) fold(next Delta[T]) (Delta[T], folding) {
	if d.Type == Deleted && next.Type != Deleted {
		return d, keepBoth
	}
	merged := next
	switch {
	case d.Type == Deleted && (next.FinalStateUnknown || !d.FinalStateUnknown):
		merged = d
	case d.Type == Added && next.Type == Updated:
		merged.Type = Added
	}
	merged.ResourceVersion, merged.Merged = d.ResourceVersion, true
	return merged, keepMerged
}
