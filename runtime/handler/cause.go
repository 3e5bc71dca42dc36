package handler

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Cause is why a request is in the queue: one event of one object.
type Cause struct {
	// Kind is the kind of the object, such as "Deployment.apps", or the name of the source for one that is of no kind.
	Kind string
	// Type is what happened to the object.
	Type informer.EventType
	// Key names the object.
	Key object.Key
	// UID and Version, a resource version, are of the state that the object is in now, or was in last.
	UID     types.UID
	Version string
	// Quiet says that nothing has changed: the object is one of those that existed at the start, or is delivered again
	// by a resync. Such an event is less urgent than others.
	Quiet bool
	// StatusOnly says that an update has left alone what users and other controllers ask for: the generation, labels,
	// annotations, finalizers, owners, and whether the object is to be deleted. It is never set for an object without a
	// generation, of which nobody can tell.
	StatusOnly bool
	// Deletion says that an update has begun the deletion of the object, or that an object is gone whose deletion nobody
	// has seen begin.
	Deletion bool
	// Merged is that of the event, and set as well for an end that was noticed later: there may be other changes in it.
	Merged bool
}

// String is the cause as logs show it, such as "Updated Deployment.apps default/web".
func (c Cause) String() string { return fmt.Sprintf("%s %s %s", c.Type, c.Kind, c.Key) }

// CauseOf returns the cause that e is.
func CauseOf[T object.Object](kind string, e informer.Event[T]) Cause {
	c := Cause{
		Kind: kind, Type: e.Type, Key: object.KeyOf(e.Object), UID: e.Object.GetUID(), Version: e.Object.GetResourceVersion(),
		Quiet: e.Initial, Merged: e.Merged || e.FinalStateUnknown,
	}
	switch e.Type {
	case informer.Updated:
		c.Quiet = c.Version != "" && c.Version == e.Old.GetResourceVersion()
		c.StatusOnly = !c.Quiet && isStatusOnly(e.Old, e.Object)
		c.Deletion = !c.Quiet && e.Old.GetDeletionTimestamp() == nil && e.Object.GetDeletionTimestamp() != nil
	case informer.Deleted:
		c.Deletion = e.Object.GetDeletionTimestamp() == nil
	}
	return c
}

// isStatusOnly reports whether now asks for the same as before.
func isStatusOnly(before, now metav1.Object) bool {
	return now.GetGeneration() != 0 && before.GetGeneration() == now.GetGeneration() &&
		before.GetUID() == now.GetUID() &&
		(before.GetDeletionTimestamp() == nil) == (now.GetDeletionTimestamp() == nil) &&
		maps.Equal(before.GetLabels(), now.GetLabels()) &&
		maps.Equal(before.GetAnnotations(), now.GetAnnotations()) &&
		slices.Equal(before.GetFinalizers(), now.GetFinalizers()) &&
		reflect.DeepEqual(before.GetOwnerReferences(), now.GetOwnerReferences())
}

// CausalQueue is a Queue that wants to know why requests are added. That of a controller is one.
type CausalQueue[R comparable] interface {
	Queue[R]
	// Because returns the queue for what a handler adds for one event. It is used during that call of the handler only.
	Because(c Cause) Queue[R]
}

// Because returns queue for what a handler adds for e, which is about an object of that kind.
func Because[T object.Object, R comparable](queue Queue[R], kind string, e informer.Event[T]) Queue[R] {
	if causal, ok := queue.(CausalQueue[R]); ok {
		return causal.Because(CauseOf(kind, e))
	}
	return queue
}
