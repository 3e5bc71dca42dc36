// Package event defines the events for handlers and predicates.
package event

import "sigs.k8s.io/controller-runtime/pkg/client"

// CreateEvent is a [TypedCreateEvent] of objects of any type.
type CreateEvent = TypedCreateEvent[client.Object]

// UpdateEvent is a [TypedUpdateEvent] of objects of any type.
type UpdateEvent = TypedUpdateEvent[client.Object]

// DeleteEvent is a [TypedDeleteEvent] of objects of any type.
type DeleteEvent = TypedDeleteEvent[client.Object]

// GenericEvent is a [TypedGenericEvent] of objects of any type.
type GenericEvent = TypedGenericEvent[client.Object]

// TypedCreateEvent reports a new object.
type TypedCreateEvent[object any] struct {
	// Object is the object.
	Object object
	// IsInInitialList is set for objects that existed at the start of the watch.
	IsInInitialList bool
}

// TypedUpdateEvent reports a change.
type TypedUpdateEvent[object any] struct {
	// ObjectOld is the object before the change.
	ObjectOld object
	// ObjectNew is the object after the change.
	ObjectNew object
}

// TypedDeleteEvent reports a deletion.
type TypedDeleteEvent[object any] struct {
	// Object is the last known state of the object.
	Object object
	// DeleteStateUnknown means that the deletion event was missed, so Object may be outdated.
	DeleteStateUnknown bool
}

// TypedGenericEvent reports any other event, such as a change outside the cluster.
type TypedGenericEvent[object any] struct {
	// Object is the affected object.
	Object object
}
