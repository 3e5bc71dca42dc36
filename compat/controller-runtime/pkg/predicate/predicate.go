// Package predicate filters events before they reach a handler.
package predicate

import (
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
)

var log = logf.RuntimeLog.WithName("predicate").WithName("eventFilters")

// Predicate filters events of objects of any type.
type Predicate = TypedPredicate[client.Object]

// TypedPredicate filters events. Each method reports whether the event passes.
type TypedPredicate[object any] interface {
	// Create filters events of new objects.
	Create(event.TypedCreateEvent[object]) bool
	// Delete filters deletions.
	Delete(event.TypedDeleteEvent[object]) bool
	// Update filters changes.
	Update(event.TypedUpdateEvent[object]) bool
	// Generic filters other events.
	Generic(event.TypedGenericEvent[object]) bool
}

// Funcs implements [Predicate] with functions.
type Funcs = TypedFuncs[client.Object]

// TypedFuncs implements [TypedPredicate] with functions. Events without a function pass.
type TypedFuncs[object any] struct {
	// CreateFunc filters events of new objects.
	CreateFunc func(event.TypedCreateEvent[object]) bool
	// DeleteFunc filters deletions.
	DeleteFunc func(event.TypedDeleteEvent[object]) bool
	// UpdateFunc filters changes.
	UpdateFunc func(event.TypedUpdateEvent[object]) bool
	// GenericFunc filters other events.
	GenericFunc func(event.TypedGenericEvent[object]) bool
}

var _ Predicate = Funcs{}

// Create implements [TypedPredicate].
func (p TypedFuncs[object]) Create(e event.TypedCreateEvent[object]) bool {
	return p.CreateFunc == nil || p.CreateFunc(e)
}

// Delete implements [TypedPredicate].
func (p TypedFuncs[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return p.DeleteFunc == nil || p.DeleteFunc(e)
}

// Update implements [TypedPredicate].
func (p TypedFuncs[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return p.UpdateFunc == nil || p.UpdateFunc(e)
}

// Generic implements [TypedPredicate].
func (p TypedFuncs[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return p.GenericFunc == nil || p.GenericFunc(e)
}

// NewPredicateFuncs returns a predicate that filters the objects of events. For updates, it filters the new object.
func NewPredicateFuncs(filter func(object client.Object) bool) Funcs {
	return NewTypedPredicateFuncs(filter)
}

// NewTypedPredicateFuncs is like [NewPredicateFuncs], for objects of one type.
func NewTypedPredicateFuncs[object any](filter func(object object) bool) TypedFuncs[object] {
	return TypedFuncs[object]{
		CreateFunc:  func(e event.TypedCreateEvent[object]) bool { return filter(e.Object) },
		UpdateFunc:  func(e event.TypedUpdateEvent[object]) bool { return filter(e.ObjectNew) },
		DeleteFunc:  func(e event.TypedDeleteEvent[object]) bool { return filter(e.Object) },
		GenericFunc: func(e event.TypedGenericEvent[object]) bool { return filter(e.Object) },
	}
}

// ResourceVersionChangedPredicate skips updates that do not change the resource version, such as the updates of a
// resync.
type ResourceVersionChangedPredicate = TypedResourceVersionChangedPredicate[client.Object]

// TypedResourceVersionChangedPredicate is like [ResourceVersionChangedPredicate], for objects of one type.
type TypedResourceVersionChangedPredicate[T metav1.Object] struct{ TypedFuncs[T] }

// Update implements [TypedPredicate].
func (TypedResourceVersionChangedPredicate[T]) Update(e event.TypedUpdateEvent[T]) bool {
	return isWhole(e) && e.ObjectNew.GetResourceVersion() != e.ObjectOld.GetResourceVersion()
}

// GenerationChangedPredicate skips updates that do not change the generation, such as updates of the status.
type GenerationChangedPredicate = TypedGenerationChangedPredicate[client.Object]

// TypedGenerationChangedPredicate is like [GenerationChangedPredicate], for objects of one type.
type TypedGenerationChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements [TypedPredicate].
func (TypedGenerationChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return isWhole(e) && e.ObjectNew.GetGeneration() != e.ObjectOld.GetGeneration()
}

// AnnotationChangedPredicate skips updates that do not change the annotations.
type AnnotationChangedPredicate = TypedAnnotationChangedPredicate[client.Object]

// TypedAnnotationChangedPredicate is like [AnnotationChangedPredicate], for objects of one type.
type TypedAnnotationChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements [TypedPredicate].
func (TypedAnnotationChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return isWhole(e) && !maps.Equal(e.ObjectNew.GetAnnotations(), e.ObjectOld.GetAnnotations())
}

// LabelChangedPredicate skips updates that do not change the labels.
type LabelChangedPredicate = TypedLabelChangedPredicate[client.Object]

// TypedLabelChangedPredicate is like [LabelChangedPredicate], for objects of one type.
type TypedLabelChangedPredicate[object metav1.Object] struct{ TypedFuncs[object] }

// Update implements [TypedPredicate].
func (TypedLabelChangedPredicate[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return isWhole(e) && !maps.Equal(e.ObjectNew.GetLabels(), e.ObjectOld.GetLabels())
}

// isWhole reports whether an update has both objects.
func isWhole[object any](e event.TypedUpdateEvent[object]) bool {
	switch {
	case isNil(e.ObjectOld):
		log.Error(nil, "Update event has no old object to update", "event", e)
	case isNil(e.ObjectNew):
		log.Error(nil, "Update event has no new object to update", "event", e)
	default:
		return true
	}
	return false
}

func isNil(o any) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// And returns a predicate for events that pass all predicates.
func And[object any](predicates ...TypedPredicate[object]) TypedPredicate[object] {
	return combined[object]{predicates, true}
}

// Or returns a predicate for events that pass at least one of the predicates.
func Or[object any](predicates ...TypedPredicate[object]) TypedPredicate[object] {
	return combined[object]{predicates, false}
}

// combined calls predicates in order, until one of them returns a value other than all.
type combined[object any] struct {
	predicates []TypedPredicate[object]
	all        bool
}

func (c combined[object]) ask(counts func(TypedPredicate[object]) bool) bool {
	for _, p := range c.predicates {
		if counts(p) != c.all {
			return !c.all
		}
	}
	return c.all
}

func (c combined[object]) Create(e event.TypedCreateEvent[object]) bool {
	return c.ask(func(p TypedPredicate[object]) bool { return p.Create(e) })
}

func (c combined[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return c.ask(func(p TypedPredicate[object]) bool { return p.Update(e) })
}

func (c combined[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return c.ask(func(p TypedPredicate[object]) bool { return p.Delete(e) })
}

func (c combined[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return c.ask(func(p TypedPredicate[object]) bool { return p.Generic(e) })
}

// Not returns a predicate for events that predicate rejects.
func Not[object any](predicate TypedPredicate[object]) TypedPredicate[object] {
	return negated[object]{predicate}
}

type negated[object any] struct{ TypedPredicate[object] }

func (n negated[object]) Create(e event.TypedCreateEvent[object]) bool {
	return !n.TypedPredicate.Create(e)
}

func (n negated[object]) Update(e event.TypedUpdateEvent[object]) bool {
	return !n.TypedPredicate.Update(e)
}

func (n negated[object]) Delete(e event.TypedDeleteEvent[object]) bool {
	return !n.TypedPredicate.Delete(e)
}

func (n negated[object]) Generic(e event.TypedGenericEvent[object]) bool {
	return !n.TypedPredicate.Generic(e)
}

// LabelSelectorPredicate returns a predicate of objects that a selector matches.
func LabelSelectorPredicate(s metav1.LabelSelector) (Predicate, error) {
	selector, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		return Funcs{}, err
	}
	return NewPredicateFuncs(func(o client.Object) bool { return selector.Matches(labels.Set(o.GetLabels())) }), nil
}
