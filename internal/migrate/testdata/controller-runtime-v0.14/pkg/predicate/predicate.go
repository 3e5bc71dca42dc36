// Package predicate has the signatures of controller-runtime's.
package predicate

import "sigs.k8s.io/controller-runtime/pkg/event"

type Predicate interface {
	Create(event.CreateEvent) bool
	Update(event.UpdateEvent) bool
	Delete(event.DeleteEvent) bool
	Generic(event.GenericEvent) bool
}

type Funcs struct{}

func (Funcs) Create(event.CreateEvent) bool   { return true }
func (Funcs) Update(event.UpdateEvent) bool   { return true }
func (Funcs) Delete(event.DeleteEvent) bool   { return true }
func (Funcs) Generic(event.GenericEvent) bool { return true }

type GenerationChangedPredicate struct{ Funcs }
