package informer

import (
	"fmt"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// EventType is the type of a change.
type EventType int

// Types of events.
const (
	// Added means that the object is new to the handler.
	Added EventType = iota + 1
	// Updated means that the object has a new state, or is delivered again by a resync.
	Updated
	// Deleted means that the object no longer exists.
	Deleted
	// Generic marks an event from outside the cluster. Informers do not send it.
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

// Event is one change of one object. The store and other handlers share Object and Old, so they must not be modified.
type Event[T object.Object] struct {
	// Type is Added, Updated or Deleted.
	Type EventType
	// Object is the new state. In a Deleted event, it is the last known state.
	Object T
	// Old is the state that the handler received before, in an Updated event. In a resync, it is Object itself.
	Old T
	// Initial marks an Added event for an object that existed when the handler was added, or that was in the first list.
	Initial bool
	// FinalStateUnknown marks a Deleted event that the watch missed and a later list revealed. Object is then the last
	// known state, which may be older than the final one.
	FinalStateUnknown bool
	// Merged marks an event that may combine several changes, because they happened while no watch was running, or because
	// they were merged for a slow consumer. Any other event is exactly one change.
	Merged bool

	bytes int // size of the watch event, or 0 if unknown
}

// Key returns the key of the object. It works for every type of event.
func (e Event[T]) Key() object.Key { return object.KeyOf(e.Object) }

// As returns e with its objects converted to the Go type To. It reports false if they have another type. A nil object,
// as in tests of predicates, stays nil.
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

// Handler receives every change, one at a time. It should return quickly: until it returns, further changes are
// buffered, and are merged per object if there are many. A panic in a Handler is not recovered and ends the program.
type Handler[T object.Object] func(Event[T])
