// Package predicate provides predicates, which filter the events of watched objects. A rejected event adds no request.
//
// Reject only changes on which the reconciler does not act. Nearly always accept Added events, because the initial
// state arrives as Added events, and a controller that starts must reconcile every object once.
package predicate

import (
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Predicate reports whether an event of an object of any kind passes. It must not modify the objects, and must be safe
// for concurrent use. [Object] and [Event] convert functions for one Go type to predicates.
type Predicate func(informer.Event[object.Object]) bool

// And returns a predicate that passes an event if all predicates pass it. And() passes every event.
func And(predicates ...Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return !slices.ContainsFunc(predicates, func(p Predicate) bool { return !p(e) })
	}
}

// Or returns a predicate that passes an event if at least one of predicates passes it. Or() rejects every event.
func Or(predicates ...Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return slices.ContainsFunc(predicates, func(p Predicate) bool { return p(e) })
	}
}

// Not returns a predicate that passes the events that p rejects.
func Not(p Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool { return !p(e) }
}

// Object returns a predicate that calls accept with the object of the event; for an update, with the new state. Events
// of objects of other Go types pass.
func Object[T object.Object](accept func(T) bool) Predicate {
	return func(e informer.Event[object.Object]) bool {
		o, is := e.Object.(T)
		return !is || accept(o)
	}
}

// Event returns a predicate that calls accept for events of objects of type T. Events of objects of other Go types
// pass.
func Event[T object.Object](accept func(informer.Event[T]) bool) Predicate {
	return func(e informer.Event[object.Object]) bool {
		typed, is := informer.As[T](e)
		return !is || accept(typed)
	}
}

// Matching returns a predicate that passes events of objects whose labels match selector. An update passes if the old
// or the new state matches, so that the reconciler runs once more for an object that no longer matches. An event
// without an object is rejected.
func Matching(selector labels.Selector) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return matches(selector, e.Object) || e.Type == informer.Updated && matches(selector, e.Old)
	}
}

// LabelSelectorPredicate returns a predicate that passes events of objects whose labels match selector. Unlike
// [Matching], the predicate examines only the new state, so it rejects an update after which the object no longer
// matches. LabelSelectorPredicate returns an error for an invalid selector.
func LabelSelectorPredicate(selector metav1.LabelSelector) (Predicate, error) {
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil, err
	}
	return func(e informer.Event[object.Object]) bool { return matches(parsed, e.Object) }, nil
}

// matches reports whether the object exists and its labels match.
func matches(selector labels.Selector, o object.Object) bool {
	return !isNil(o) && selector.Matches(labels.Set(o.GetLabels()))
}

// isNil reports whether an event lacks an object. In an event that was converted from a typed event, the missing object
// is a nil pointer.
func isNil(o object.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// isWholeUpdate reports whether an event is an update with both states.
func isWholeUpdate(e informer.Event[object.Object]) bool {
	return e.Type == informer.Updated && !isNil(e.Old) && !isNil(e.Object)
}

// SpecChanged returns a predicate that rejects resyncs, and updates that change only status, labels or annotations.
// Updates that change the generation, the deletion timestamp or the finalizers pass, and so do all events other than
// updates. For kinds without a generation, such as ConfigMap, every update that changes the object passes.
func SpecChanged() Predicate {
	return updates(func(before, after object.Object) bool {
		if after.GetGeneration() == 0 {
			return before.GetResourceVersion() != after.GetResourceVersion()
		}
		return before.GetGeneration() != after.GetGeneration() || ends(before, after)
	})
}

// OrEnding returns p with an exception for updates that begin the deletion of an object or change its finalizers: such
// an update also passes if p would pass an Added event of the object. Without the exception, a predicate that examines
// only changes of the spec would prevent the cleanup.
func OrEnding(p Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool {
		if p(e) {
			return true
		}
		added := informer.Event[object.Object]{Type: informer.Added, Object: e.Object}
		return isWholeUpdate(e) && ends(e.Old, e.Object) && p(added)
	}
}

// ends reports whether an update begins the deletion of an object or changes its finalizers.
func ends(before, after object.Object) bool {
	return before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers())
}

// ResourceVersionChanged returns a predicate that rejects updates without a change, which a resync sends.
func ResourceVersionChanged() Predicate {
	return updates(func(before, after object.Object) bool {
		return before.GetResourceVersion() != after.GetResourceVersion()
	})
}

// LabelsChanged returns a predicate that rejects updates that do not change the labels.
func LabelsChanged() Predicate {
	return updates(func(before, after object.Object) bool { return !maps.Equal(before.GetLabels(), after.GetLabels()) })
}

// AnnotationsChanged returns a predicate that rejects updates that do not change the annotations.
func AnnotationsChanged() Predicate {
	return updates(func(before, after object.Object) bool {
		return !maps.Equal(before.GetAnnotations(), after.GetAnnotations())
	})
}

// updates returns a predicate that passes an update if changed returns true, and passes all other events. It rejects an
// update without an object, which only tests and channels send.
func updates(changed func(before, after object.Object) bool) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return e.Type != informer.Updated || isWholeUpdate(e) && changed(e.Old, e.Object)
	}
}
