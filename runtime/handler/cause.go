package handler

import (
	"fmt"

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
	// Quiet says that nothing has changed: the object is one of those that existed at the start, or is delivered again
	// by a resync. Such an event is less urgent than others.
	Quiet bool
}

// String is the cause as logs show it, such as "Updated Deployment.apps default/web".
func (c Cause) String() string { return fmt.Sprintf("%s %s %s", c.Type, c.Kind, c.Key) }

// CauseOf returns the cause that e is.
func CauseOf[T object.Object](kind string, e informer.Event[T]) Cause {
	quiet := e.Initial
	if e.Type == informer.Updated {
		version := e.Object.GetResourceVersion()
		quiet = version != "" && version == e.Old.GetResourceVersion()
	}
	return Cause{Kind: kind, Type: e.Type, Key: object.KeyOf(e.Object), Quiet: quiet}
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
