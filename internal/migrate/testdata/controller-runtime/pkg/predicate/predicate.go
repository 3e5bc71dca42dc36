package predicate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

type Predicate interface {
	Create(event.CreateEvent) bool
	Update(event.UpdateEvent) bool
	Delete(event.DeleteEvent) bool
	Generic(event.GenericEvent) bool
}

type Funcs struct {
	CreateFunc  func(event.CreateEvent) bool
	UpdateFunc  func(event.UpdateEvent) bool
	DeleteFunc  func(event.DeleteEvent) bool
	GenericFunc func(event.GenericEvent) bool
}

func (Funcs) Create(event.CreateEvent) bool   { return true }
func (Funcs) Update(event.UpdateEvent) bool   { return true }
func (Funcs) Delete(event.DeleteEvent) bool   { return true }
func (Funcs) Generic(event.GenericEvent) bool { return true }

type GenerationChangedPredicate struct{ Funcs }

func LabelSelectorPredicate(s metav1.LabelSelector) (Predicate, error) { return nil, nil }

type LabelChangedPredicate struct{ Funcs }

func Or(p ...Predicate) Predicate { return nil }

func NewPredicateFuncs(f func(o client.Object) bool) Funcs { return Funcs{} }
