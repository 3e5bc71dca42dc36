// Package predicate decides which events of a watched object count. An event that does not count reaches no queue.
//
// A predicate sees what changed, so it can only be used to leave out changes that the reconciler does not act on. The
// initial state, which comes as Added events, should nearly always pass: a controller that starts must look at
// everything once.
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

// Predicate reports whether an event counts, of whatever kind. It must not modify the objects, and is called from several
// goroutines. [Object] and [Event] make one of a function of a Go type.
type Predicate func(informer.Event[object.Object]) bool

// And is a predicate for events that count for all of predicates. Without any, every event counts.
func And(predicates ...Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return !slices.ContainsFunc(predicates, func(p Predicate) bool { return !p(e) })
	}
}

// Or is a predicate for events that count for at least one of predicates. Without any, no event counts.
func Or(predicates ...Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return slices.ContainsFunc(predicates, func(p Predicate) bool { return p(e) })
	}
}

// Not is a predicate for events that do not count for p.
func Not(p Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool { return !p(e) }
}

// Object is a predicate on the object alone, whatever happened to it. For an update it is asked about the new state. Events
// of objects of another Go type count.
func Object[T object.Object](accept func(T) bool) Predicate {
	return func(e informer.Event[object.Object]) bool {
		o, is := e.Object.(T)
		return !is || accept(o)
	}
}

// Event is a predicate on the events of objects of one Go type. Those of another Go type count.
func Event[T object.Object](accept func(informer.Event[T]) bool) Predicate {
	return func(e informer.Event[object.Object]) bool {
		typed, is := informer.As[T](e)
		return !is || accept(typed)
	}
}

// Matching is a predicate for objects whose labels match. An update counts when the old or the new state matches, so
// that an object which stops to match is seen once more. An event without an object does not count.
func Matching(selector labels.Selector) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return matches(selector, e.Object) || e.Type == informer.Updated && matches(selector, e.Old)
	}
}

// LabelSelectorPredicate is a predicate for objects whose labels match a selector as objects of the API have it. Unlike
// [Matching] it looks at the new state alone: an update after which the object no longer matches does not count. It
// fails when the selector is not valid.
func LabelSelectorPredicate(selector metav1.LabelSelector) (Predicate, error) {
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return nil, err
	}
	return func(e informer.Event[object.Object]) bool { return matches(parsed, e.Object) }, nil
}

// matches reports whether there is an object and its labels match.
func matches(selector labels.Selector, o object.Object) bool {
	return !isNil(o) && selector.Matches(labels.Set(o.GetLabels()))
}

// isNil reports whether an event lacks an object. Events of a Go type that were converted have a nil pointer then.
func isNil(o object.Object) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// isWholeUpdate reports whether an event is an update with both states.
func isWholeUpdate(e informer.Event[object.Object]) bool {
	return e.Type == informer.Updated && !isNil(e.Old) && !isNil(e.Object)
}

// SpecChanged is a predicate that leaves out updates which change neither what the user wants nor the end of the
// object: status, labels, annotations and resyncs. It lets pass a new generation, a deletion timestamp, and a change of
// the finalizers; and everything that is no update. Of kinds without a generation, such as ConfigMap, all updates pass
// that change the object.
func SpecChanged() Predicate {
	return updates(func(before, after object.Object) bool {
		if after.GetGeneration() == 0 {
			return before.GetResourceVersion() != after.GetResourceVersion()
		}
		return before.GetGeneration() != after.GetGeneration() || ends(before, after)
	})
}

// OrEnding is p, except that it cannot leave out an update that begins the deletion of an object or changes its finalizers
// for what it changes: such an update counts if the object would count for p as a new one. A predicate that looks at the
// spec alone, say, would keep a reconciler from cleaning up.
func OrEnding(p Predicate) Predicate {
	return func(e informer.Event[object.Object]) bool {
		if p(e) {
			return true
		}
		added := informer.Event[object.Object]{Type: informer.Added, Object: e.Object}
		return isWholeUpdate(e) && ends(e.Old, e.Object) && p(added)
	}
}

// ends reports whether the deletion of an object has begun or come closer.
func ends(before, after object.Object) bool {
	return before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers())
}

// ResourceVersionChanged is a predicate that leaves out the updates of a resync, which change nothing.
func ResourceVersionChanged() Predicate {
	return updates(func(before, after object.Object) bool {
		return before.GetResourceVersion() != after.GetResourceVersion()
	})
}

// LabelsChanged is a predicate that leaves out updates which leave the labels as they were.
func LabelsChanged() Predicate {
	return updates(func(before, after object.Object) bool { return !maps.Equal(before.GetLabels(), after.GetLabels()) })
}

// AnnotationsChanged is a predicate that leaves out updates which leave the annotations as they were.
func AnnotationsChanged() Predicate {
	return updates(func(before, after object.Object) bool {
		return !maps.Equal(before.GetAnnotations(), after.GetAnnotations())
	})
}

// updates asks changed about updates and lets everything else pass. An update that lacks an object, which only tests
// and channels send, does not count.
func updates(changed func(before, after object.Object) bool) Predicate {
	return func(e informer.Event[object.Object]) bool {
		return e.Type != informer.Updated || isWholeUpdate(e) && changed(e.Old, e.Object)
	}
}
