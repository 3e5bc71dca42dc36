package predicate

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

type TypedPredicate[object any] interface {
	Create(event.TypedCreateEvent[object]) bool
	Update(event.TypedUpdateEvent[object]) bool
	Delete(event.TypedDeleteEvent[object]) bool
	Generic(event.TypedGenericEvent[object]) bool
}

type Predicate = TypedPredicate[client.Object]

type TypedFuncs[object any] struct {
	CreateFunc  func(event.TypedCreateEvent[object]) bool
	UpdateFunc  func(event.TypedUpdateEvent[object]) bool
	DeleteFunc  func(event.TypedDeleteEvent[object]) bool
	GenericFunc func(event.TypedGenericEvent[object]) bool
}

func (TypedFuncs[T]) Create(event.TypedCreateEvent[T]) bool   { return true }
func (TypedFuncs[T]) Update(event.TypedUpdateEvent[T]) bool   { return true }
func (TypedFuncs[T]) Delete(event.TypedDeleteEvent[T]) bool   { return true }
func (TypedFuncs[T]) Generic(event.TypedGenericEvent[T]) bool { return true }

type Funcs = TypedFuncs[client.Object]

type GenerationChangedPredicate struct{ Funcs }

func LabelSelectorPredicate(s metav1.LabelSelector) (Predicate, error) { return nil, nil }

type LabelChangedPredicate struct{ Funcs }

func Or[object any](p ...TypedPredicate[object]) TypedPredicate[object] { return nil }

func And[object any](p ...TypedPredicate[object]) TypedPredicate[object] { return nil }

func Not[object any](p TypedPredicate[object]) TypedPredicate[object] { return nil }

func NewPredicateFuncs(f func(o client.Object) bool) Funcs { return Funcs{} }
