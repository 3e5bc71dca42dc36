// Package predicate is a stub.
package predicate

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

type Predicate interface {
	Create(event.CreateEvent) bool
	Update(event.UpdateEvent) bool
}

type Funcs struct {
	CreateFunc func(event.CreateEvent) bool
	UpdateFunc func(event.UpdateEvent) bool
}

func (Funcs) Create(event.CreateEvent) bool { return true }
func (Funcs) Update(event.UpdateEvent) bool { return true }

type GenerationChangedPredicate struct{ Funcs }

type LabelChangedPredicate struct{ Funcs }

type AnnotationChangedPredicate struct{ Funcs }

type ResourceVersionChangedPredicate struct{ Funcs }

func NewPredicateFuncs(filter func(object client.Object) bool) Funcs { return Funcs{} }

func And(predicates ...Predicate) Predicate { return nil }

func Or(predicates ...Predicate) Predicate { return nil }
