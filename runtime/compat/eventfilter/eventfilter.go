// Package eventfilter has predicates as types with four methods, for operators that were migrated from
// controller-runtime, among them those that have its names. New code calls the functions of package predicate.
package eventfilter

import (
	"reflect"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
)

// Filter is a predicate as four methods, one for each thing that may happen to an object of any kind. [Of] makes a
// predicate of it.
type Filter = FilterOf[object.Object]

// FilterOf is a [Filter] for the objects of one Go type.
type FilterOf[T object.Object] interface {
	Create(e informer.Event[T]) bool
	Update(e informer.Event[T]) bool
	Delete(e informer.Event[T]) bool
	Generic(e informer.Event[T]) bool
}

// Of is a predicate that asks the method of f that is for the type of the event: Create about an Added one, Update
// about an Updated one, Delete about a Deleted one, and Generic about all others, such as those of a resync and of
// channels. Events of objects of another Go type count.
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

// Funcs is a [Filter] of functions. What has none counts.
type Funcs = FuncsOf[object.Object]

// FuncsOf is a [FilterOf] of functions. What has none counts.
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

// GenerationChangedPredicate is a [Filter] that leaves out updates which do not change metadata.generation, for types
// that embed it and have a method of their own beside it. Unlike [predicate.SpecChanged] it leaves out the start of a
// deletion and changes of finalizers, and all updates of kinds without a generation; the builder's For adds the first
// two, see [predicate.OrEnding].
type GenerationChangedPredicate struct{ unchanged }

// Update implements Filter.
func (GenerationChangedPredicate) Update(e informer.Event[object.Object]) bool {
	return generationChanged(e)
}

// LabelChangedPredicate is [predicate.LabelsChanged] as a [Filter], for types that embed it and have a method of
// their own beside it.
type LabelChangedPredicate struct{ unchanged }

// Update implements Filter.
func (LabelChangedPredicate) Update(e informer.Event[object.Object]) bool { return labelsChanged(e) }

// AnnotationChangedPredicate is [predicate.AnnotationsChanged] as a [Filter], for types that embed it and have a
// method of their own beside it.
type AnnotationChangedPredicate struct{ unchanged }

// Update implements Filter.
func (AnnotationChangedPredicate) Update(e informer.Event[object.Object]) bool {
	return annotationsChanged(e)
}

// ResourceVersionChangedPredicate is [predicate.ResourceVersionChanged] as a [Filter], for types that embed it and
// have a method of their own beside it.
type ResourceVersionChangedPredicate struct{ unchanged }

// Update implements Filter.
func (ResourceVersionChangedPredicate) Update(e informer.Event[object.Object]) bool {
	return resourceVersionChanged(e)
}

var (
	labelsChanged, annotationsChanged = predicate.LabelsChanged(), predicate.AnnotationsChanged()
	resourceVersionChanged            = predicate.ResourceVersionChanged()
)

// generationChanged reports whether an event is no update, or one with both states, of different generations.
func generationChanged(e informer.Event[object.Object]) bool {
	if e.Type != informer.Updated {
		return true
	}
	return !isNil(e.Old) && !isNil(e.Object) && e.Old.GetGeneration() != e.Object.GetGeneration()
}

// isNil reports whether an event lacks an object. Events of a Go type that were converted have a nil pointer then.
func isNil(o object.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// unchanged has the methods of a [Filter] that are not about updates: everything counts.
type unchanged struct{}

// Create implements Filter.
func (unchanged) Create(informer.Event[object.Object]) bool { return true }

// Delete implements Filter.
func (unchanged) Delete(informer.Event[object.Object]) bool { return true }

// Generic implements Filter.
func (unchanged) Generic(informer.Event[object.Object]) bool { return true }
