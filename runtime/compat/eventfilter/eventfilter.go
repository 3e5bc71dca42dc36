// Package eventfilter has predicates in the form of controller-runtime, as types with four methods, for migrated
// operators. New code should use the functions of package predicate.
package eventfilter

import (
	"reflect"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
)

// Filter is a predicate with one method per type of event, for objects of any kind. [Of] converts it to a predicate.
type Filter = FilterOf[object.Object]

// FilterOf is a [Filter] for objects of one Go type.
type FilterOf[T object.Object] interface {
	Create(e informer.Event[T]) bool
	Update(e informer.Event[T]) bool
	Delete(e informer.Event[T]) bool
	Generic(e informer.Event[T]) bool
}

// Of returns a predicate that calls the method of f for the type of the event: Create for Added, Update for Updated,
// Delete for Deleted, and Generic for all others, such as resyncs and events of channels. Events of objects of other Go
// types pass.
func Of[T object.Object](f FilterOf[T]) predicate.Predicate {
	return predicate.Event(func(e informer.Event[T]) bool {
		switch e.Type {
		case informer.Added:
			return f.Create(e)
		case informer.Updated:
			return f.Update(e)
		case informer.Deleted:
			return f.Delete(e)
		}
		return f.Generic(e)
	})
}

// Funcs is a [Filter] of functions. Events without a function pass.
type Funcs = FuncsOf[object.Object]

// FuncsOf is a [FilterOf] of functions. Events without a function pass.
type FuncsOf[T object.Object] struct {
	CreateFunc, UpdateFunc, DeleteFunc, GenericFunc func(informer.Event[T]) bool
}

// Create implements FilterOf.
func (f FuncsOf[T]) Create(e informer.Event[T]) bool { return f.CreateFunc == nil || f.CreateFunc(e) }

// Update implements FilterOf.
func (f FuncsOf[T]) Update(e informer.Event[T]) bool { return f.UpdateFunc == nil || f.UpdateFunc(e) }

// Delete implements FilterOf.
func (f FuncsOf[T]) Delete(e informer.Event[T]) bool { return f.DeleteFunc == nil || f.DeleteFunc(e) }

// Generic implements FilterOf.
func (f FuncsOf[T]) Generic(e informer.Event[T]) bool {
	return f.GenericFunc == nil || f.GenericFunc(e)
}

// GenerationChangedPredicate is a [Filter] that drops updates without a change of metadata.generation. It is for types
// that embed it and add methods. Unlike [predicate.SpecChanged] it drops the start of a deletion, changes of
// finalizers, and all updates of kinds without a generation. The builder's For adds the first two, see
// [predicate.OrEnding].
type GenerationChangedPredicate struct{ unchanged }

// Update implements Filter.
func (GenerationChangedPredicate) Update(e informer.Event[object.Object]) bool {
	return generationChanged(e)
}

// LabelChangedPredicate is [predicate.LabelsChanged] as a [Filter], for types that embed it and add methods.
type LabelChangedPredicate struct{ unchanged }

// Update implements Filter.
func (LabelChangedPredicate) Update(e informer.Event[object.Object]) bool { return labelsChanged(e) }

// AnnotationChangedPredicate is [predicate.AnnotationsChanged] as a [Filter], for types that embed it and add methods.
type AnnotationChangedPredicate struct{ unchanged }

// Update implements Filter.
func (AnnotationChangedPredicate) Update(e informer.Event[object.Object]) bool {
	return annotationsChanged(e)
}

// ResourceVersionChangedPredicate is [predicate.ResourceVersionChanged] as a [Filter], for types that embed it and add
// methods.
type ResourceVersionChangedPredicate struct{ unchanged }

// Update implements Filter.
func (ResourceVersionChangedPredicate) Update(e informer.Event[object.Object]) bool {
	return resourceVersionChanged(e)
}

var (
	labelsChanged, annotationsChanged = predicate.LabelsChanged(), predicate.AnnotationsChanged()
	resourceVersionChanged            = predicate.ResourceVersionChanged()
)

// generationChanged reports whether an event is not an update, or is an update with two states of different
// generations.
func generationChanged(e informer.Event[object.Object]) bool {
	if e.Type != informer.Updated {
		return true
	}
	return !isNil(e.Old) && !isNil(e.Object) && e.Old.GetGeneration() != e.Object.GetGeneration()
}

// isNil reports whether an event lacks an object. After a conversion of the Go type, a missing object is a nil pointer.
func isNil(o object.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// unchanged has the other methods of a [Filter]. All events pass.
type unchanged struct{}

// Create implements Filter.
func (unchanged) Create(informer.Event[object.Object]) bool { return true }

// Delete implements Filter.
func (unchanged) Delete(informer.Event[object.Object]) bool { return true }

// Generic implements Filter.
func (unchanged) Generic(informer.Event[object.Object]) bool { return true }
