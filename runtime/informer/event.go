package informer

import (
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// EventType is what has happened to an object.
type EventType int

// The types of events.
const (
	// Added: the object is new to the handler.
	Added EventType = iota + 1
	// Updated: the object has another state than before, or is delivered again by a resync.
	Updated
	// Deleted: the object is gone.
	Deleted
	// Generic is none of these. Informers do not send it: it is for events from outside of the cluster.
	Generic
)

// String returns the name of the constant.
func (t EventType) String() string {
	names := [...]string{Added: "Added", Updated: "Updated", Deleted: "Deleted", Generic: "Generic"}
	if t > 0 && int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("EventType(%d)", int(t))
}

// Event tells a handler about one change of one object. Object and Old are shared with the store and with every other
// handler: they must not be modified.
type Event[T object.Object] struct {
	// Type is Added, Updated or Deleted.
	Type EventType
	// Object is the new state, or for Deleted the last one that is known.
	Object T
	// Old is, for Updated, the state this handler was told before. In a resync it is Object itself.
	Old T
	// Initial marks an Added that is part of the state at the time the handler was added, or of the first list.
	Initial bool
	// FinalStateUnknown marks a Deleted that was missed by the watch and noticed later: Object is the last state seen,
	// and may be older than the one that was deleted.
	FinalStateUnknown bool
	// Merged marks an event that may stand for several changes, between which nobody was told: those of a time without a
	// watch, and those that were compressed for a slow consumer. Any other one is one change.
	Merged bool

	bytes int // of the watch event, 0 if it is not known
}

// Key returns the key of the object, which is there for every type of event.
func (e Event[T]) Key() object.Key { return object.KeyOf(e.Object) }

// As returns e with its objects in the Go type To. It reports false when they are of another one. An object that is nil, as tests of
// predicates have it, stays nil.
func As[To, From object.Object](e Event[From]) (as Event[To], ok bool) {
	as = Event[To]{Type: e.Type, Initial: e.Initial, FinalStateUnknown: e.FinalStateUnknown, Merged: e.Merged}
	if as.Object, ok = any(e.Object).(To); !ok && any(e.Object) != nil {
		return Event[To]{}, false
	}
	if e.Type == Updated {
		if as.Old, ok = any(e.Old).(To); !ok && any(e.Old) != nil {
			return as, false
		}
	}
	return as, true
}

// Handler is told about every change, one at a time. It should return quickly; while it does not, its changes are kept
// and, if they become many, compressed per object. A panic in a Handler is not caught: it ends the program.
type Handler[T object.Object] func(Event[T])
