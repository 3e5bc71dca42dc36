package cache

import (
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// EventHandler is a handler as three methods, as programs have it that were written for the informers of client-go: each
// ResourceEventHandler of its tools/cache is one, ResourceEventHandlerFuncs and FilteringResourceEventHandler among them. What it
// gets is of the Go type of its [Informer], and the last known state of an object where the deletion itself was missed; never a
// DeletedFinalStateUnknown.
type EventHandler interface {
	OnAdd(obj any, isInInitialList bool)
	OnUpdate(oldObj, newObj any)
	OnDelete(obj any)
}

// AddEventHandler does what [Informer.AddHandler] does, for a handler of three methods. The error is nil.
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
