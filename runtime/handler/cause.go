package handler

import (
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// causal is a Queue that wants to know why requests are added. That of a controller is one.
type causal[R comparable] interface {
	// Because returns the queue for what a handler adds for one event of an object of that kind. It is used during that
	// call of the handler only.
	Because(kind string, e informer.Event[object.Object]) Queue[R]
}

// Because returns queue for what a handler adds for e, which is about an object of that kind.
func Because[T object.Object, R comparable](queue Queue[R], kind string, e informer.Event[T]) Queue[R] {
	told, ok := queue.(causal[R])
	if !ok {
		return queue
	}
	untyped := informer.Event[object.Object]{
		Type: e.Type, Object: e.Object, Initial: e.Initial, FinalStateUnknown: e.FinalStateUnknown, Merged: e.Merged,
	}
	if e.Type == informer.Updated {
		untyped.Old = e.Old
	}
	return told.Because(kind, untyped)
}
