// Package predicate decides which events of a watched object count. An event that does not count reaches no queue.
//
// A predicate sees what changed, so it can only be used to leave out changes that the reconciler does not act on. The
// initial state, which comes as Added events, should nearly always pass: a controller that starts must look at
// everything once.
package predicate

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Predicate reports whether an event counts. It must not modify the objects, and is called from several goroutines.
type Predicate[T object.Object] func(informer.Event[T]) bool

// And is a predicate for events that count for all of predicates. Without any, every event counts.
func And[T object.Object](predicates ...Predicate[T]) Predicate[T] {
	return func(e informer.Event[T]) bool {
		return !slices.ContainsFunc(predicates, func(p Predicate[T]) bool { return !p(e) })
	}
}

// Or is a predicate for events that count for at least one of predicates. Without any, no event counts.
func Or[T object.Object](predicates ...Predicate[T]) Predicate[T] {
	return func(e informer.Event[T]) bool {
		return slices.ContainsFunc(predicates, func(p Predicate[T]) bool { return p(e) })
	}
}

// Not is a predicate for events that do not count for p.
func Not[T object.Object](p Predicate[T]) Predicate[T] {
	return func(e informer.Event[T]) bool { return !p(e) }
}

// Object is a predicate on the object alone, whatever happened to it. For an update it is asked about the new state.
func Object[T object.Object](accept func(T) bool) Predicate[T] {
	return func(e informer.Event[T]) bool { return accept(e.Object) }
}

// Matching is a predicate for objects whose labels match. An update counts when the old or the new state matches, so
// that an object which stops to match is seen once more.
func Matching[T object.Object](selector labels.Selector) Predicate[T] {
	return func(e informer.Event[T]) bool {
		if selector.Matches(labels.Set(e.Object.GetLabels())) {
			return true
		}
		return e.Type == informer.Updated && selector.Matches(labels.Set(e.Old.GetLabels()))
	}
}

// SpecChanged is a predicate that leaves out updates which change neither what the user wants nor the end of the
// object: status, labels, annotations and resyncs. It lets pass a new generation, a deletion timestamp, and a change of
// the finalizers; and everything that is no update. Of kinds without a generation, such as ConfigMap, all updates pass
// that change the object.
func SpecChanged[T object.Object]() Predicate[T] {
	return updates(func(before, after T) bool {
		if after.GetGeneration() == 0 {
			return before.GetResourceVersion() != after.GetResourceVersion()
		}
		return before.GetGeneration() != after.GetGeneration() || ends(before, after)
	})
}

// OrEnding is p, except that it cannot leave out an update that begins the deletion of an object or changes its finalizers
// for what it changes: such an update counts if the object would count for p as a new one. A predicate that looks at the
// spec alone, say, would keep a reconciler from cleaning up.
func OrEnding[T object.Object](p Predicate[T]) Predicate[T] {
	return func(e informer.Event[T]) bool {
		if p(e) {
			return true
		}
		return e.Type == informer.Updated && ends(e.Old, e.Object) && p(informer.Event[T]{Type: informer.Added, Object: e.Object})
	}
}

// ends reports whether the deletion of an object has begun or come closer.
func ends[T object.Object](before, after T) bool {
	return before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers())
}

// ResourceVersionChanged is a predicate that leaves out the updates of a resync, which change nothing.
func ResourceVersionChanged[T object.Object]() Predicate[T] {
	return updates(func(before, after T) bool { return before.GetResourceVersion() != after.GetResourceVersion() })
}

// LabelsChanged is a predicate that leaves out updates which leave the labels as they were.
func LabelsChanged[T object.Object]() Predicate[T] {
	return updates(func(before, after T) bool { return !maps.Equal(before.GetLabels(), after.GetLabels()) })
}

// AnnotationsChanged is a predicate that leaves out updates which leave the annotations as they were.
func AnnotationsChanged[T object.Object]() Predicate[T] {
	return updates(func(before, after T) bool { return !maps.Equal(before.GetAnnotations(), after.GetAnnotations()) })
}

// updates asks changed about updates and lets everything else pass.
func updates[T object.Object](changed func(before, after T) bool) Predicate[T] {
	return func(e informer.Event[T]) bool {
		return e.Type != informer.Updated || changed(e.Old, e.Object)
	}
}
