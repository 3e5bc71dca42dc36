package cache

import (
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// EventHandler is a handler with three methods, like the handlers of client-go's informers. Every ResourceEventHandler
// of client-go's package tools/cache implements it, including ResourceEventHandlerFuncs and
// FilteringResourceEventHandler. Objects have the Go type of the [Informer]. If the watch missed a deletion, OnDelete
// receives the last known state of the object, never a DeletedFinalStateUnknown.
type EventHandler interface {
	OnAdd(obj any, isInInitialList bool)
	OnUpdate(oldObj, newObj any)
	OnDelete(obj any)
}

// AddEventHandler adds a handler with three methods, as [Informer.AddHandler] does. The error is always nil.
func (i *Informer) AddEventHandler(h EventHandler) (*informer.Registration, error) {
	return i.AddHandler(func(e informer.Event[object.Object]) {
		switch e.Type {
		case informer.Added:
			h.OnAdd(e.Object, e.Initial)
		case informer.Updated:
			h.OnUpdate(e.Old, e.Object)
		case informer.Deleted:
			h.OnDelete(e.Object)
		}
	}), nil
}
