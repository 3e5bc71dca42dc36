package predicate_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
)

// obj is the Go type of the objects in these tests.
type obj = *metav1.PartialObjectMetadata

type (
	event  = informer.Event[object.Object]
	accept = predicate.Predicate
)

// newObject returns an object with generation 1 and version 1 to which changes were applied.
func newObject(changes ...func(obj)) obj {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Generation: 1, ResourceVersion: "1",
		Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"note": "a"}, Finalizers: []string{"x", "y"},
	}}
	for _, change := range changes {
		change(o)
	}
	return o
}

func newVersion(o obj)    { o.ResourceVersion = "2" }
func newGeneration(o obj) { o.Generation = 2 }
func noGeneration(o obj)  { o.Generation = 0 }
func newLabels(o obj)     { o.Labels = map[string]string{"app": "b"} }
func noLabels(o obj)      { o.Labels = nil }
func newAnnotation(o obj) { o.Annotations = map[string]string{"note": "b"} }
func deleted(o obj)       { o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
func oneFinalizer(o obj)  { o.Finalizers = o.Finalizers[:1] }
func noFinalizers(o obj)  { o.Finalizers = nil }

// updated returns an update event in which changes were applied to an object that also got a new version.
func updated(changes ...func(obj)) event {
	return event{Type: informer.Updated, Old: newObject(), Object: newObject(append(changes, newVersion)...)}
}

// update returns the update event from before to after.
func update(before, after obj) event {
	return event{Type: informer.Updated, Old: before, Object: after}
}

// row is an event and the expected result of a predicate.
type row struct {
	name  string
	event event
	want  bool
}

func check(t *testing.T, p accept, rows ...row) {
	t.Helper()
	for _, r := range rows {
		if got := p(r.event); got != r.want {
			t.Errorf("%s: got %t, want %t", r.name, got, r.want)
		}
	}
}

// yes and no are predicates with constant results.
func yes(event) bool { return true }
func no(event) bool  { return false }

func TestAndNeedsAllPredicates(t *testing.T) {
	for _, r := range []struct {
		name       string
		predicates []accept
		want       bool
	}{
		{"none", nil, true},
		{"one that accepts", []accept{yes}, true},
		{"one that refuses", []accept{no}, false},
		{"the last refuses", []accept{yes, yes, no}, false},
		{"all accept", []accept{yes, yes}, true},
	} {
		if got := predicate.And(r.predicates...)(event{}); got != r.want {
			t.Errorf("%s: got %t, want %t", r.name, got, r.want)
		}
	}
}

func TestOrNeedsOnePredicate(t *testing.T) {
	for _, r := range []struct {
		name       string
		predicates []accept
		want       bool
	}{
		{"none", nil, false},
		{"one that accepts", []accept{yes}, true},
		{"one that refuses", []accept{no}, false},
		{"the last accepts", []accept{no, no, yes}, true},
		{"all refuse", []accept{no, no}, false},
	} {
		if got := predicate.Or(r.predicates...)(event{}); got != r.want {
			t.Errorf("%s: got %t, want %t", r.name, got, r.want)
		}
	}
}

func TestNotTurnsAPredicateRound(t *testing.T) {
	if predicate.Not(accept(yes))(event{}) || !predicate.Not(accept(no))(event{}) {
		t.Error("Not left a predicate as it was")
	}
}

func TestPredicatesNest(t *testing.T) {
	p := predicate.And(
		predicate.Or(predicate.LabelsChanged(), predicate.SpecChanged()),
		predicate.Not(predicate.AnnotationsChanged()),
	)
	check(t, p,
		row{"labels", updated(newLabels), true},
		row{"generation", updated(newGeneration), true},
		row{"labels and annotations", updated(newLabels, newAnnotation), false},
		row{"status", updated(), false},
	)
}

func TestObjectLooksAtTheNewState(t *testing.T) {
	p := predicate.Object(func(o obj) bool { return o.Labels["app"] == "a" })
	check(t, p,
		row{"added", event{Type: informer.Added, Object: newObject()}, true},
		row{"added another", event{Type: informer.Added, Object: newObject(newLabels)}, false},
		row{"updated to it", update(newObject(newLabels), newObject()), true},
		row{"updated from it", update(newObject(), newObject(newLabels)), false},
		row{"deleted", event{Type: informer.Deleted, Object: newObject()}, true},
	)
}

func TestMatchingSeesAnObjectThatStopsToMatchOnceMore(t *testing.T) {
	p := predicate.Matching(labels.SelectorFromSet(labels.Set{"app": "a"}))
	check(t, p,
		row{"added", event{Type: informer.Added, Object: newObject()}, true},
		row{"added another", event{Type: informer.Added, Object: newObject(newLabels)}, false},
		row{"added without labels", event{Type: informer.Added, Object: newObject(noLabels)}, false},
		row{"begins to match", update(newObject(newLabels), newObject()), true},
		row{"stops to match", update(newObject(), newObject(newLabels)), true},
		row{"goes on not to match", update(newObject(newLabels), newObject(noLabels)), false},
		row{"deleted", event{Type: informer.Deleted, Object: newObject()}, true},
		row{"deleted another", event{Type: informer.Deleted, Object: newObject(newLabels)}, false},
	)
}

func TestSpecChangedPassesGenerationDeletionAndFinalizers(t *testing.T) {
	check(t, predicate.SpecChanged(),
		row{"new generation", updated(newGeneration), true},
		row{"deletion timestamp", updated(deleted), true},
		row{"one finalizer of a deleted object", update(newObject(deleted), newObject(deleted, oneFinalizer)), true},
		row{"last finalizer", update(newObject(oneFinalizer), newObject(noFinalizers)), true},
		row{"first finalizer", update(newObject(noFinalizers), newObject(oneFinalizer)), true},
		row{"no longer deleted", update(newObject(deleted), newObject()), true},
	)
}

func TestSpecChangedLeavesOutStatusLabelsAnnotationsAndResyncs(t *testing.T) {
	check(t, predicate.SpecChanged(),
		row{"status", updated(), false},
		row{"labels", updated(newLabels), false},
		row{"annotations", updated(newAnnotation), false},
		row{"status while it is deleted", update(newObject(deleted), newObject(deleted, newVersion)), false},
		row{"resync", update(newObject(), newObject()), false},
	)
}

func TestSpecChangedPassesEveryChangeOfAKindWithoutGeneration(t *testing.T) {
	check(t, predicate.SpecChanged(),
		row{"change", update(newObject(noGeneration), newObject(noGeneration, newVersion)), true},
		row{"resync", update(newObject(noGeneration), newObject(noGeneration)), false},
	)
}

func TestResourceVersionChangedLeavesOutResyncs(t *testing.T) {
	check(t, predicate.ResourceVersionChanged(), row{"change", updated(), true},
		row{"resync", update(newObject(), newObject()), false})
}

func TestLabelsChangedPassesChangesOfLabelsOnly(t *testing.T) {
	check(t, predicate.LabelsChanged(),
		row{"a value", updated(newLabels), true},
		row{"all gone", updated(noLabels), true},
		row{"annotations", updated(newAnnotation), false},
		row{"generation", updated(newGeneration), false},
		row{"none before and after", update(newObject(noLabels), newObject(noLabels, newVersion)), false},
	)
}

func TestAnnotationsChangedPassesChangesOfAnnotationsOnly(t *testing.T) {
	check(t, predicate.AnnotationsChanged(),
		row{"a value", updated(newAnnotation), true},
		row{"labels", updated(newLabels), false},
		row{"generation", updated(newGeneration), false},
	)
}

func TestPredicatesOnChangesPassWhatIsNoUpdate(t *testing.T) {
	for name, p := range map[string]accept{
		"SpecChanged":            predicate.SpecChanged(),
		"ResourceVersionChanged": predicate.ResourceVersionChanged(),
		"LabelsChanged":          predicate.LabelsChanged(),
		"AnnotationsChanged":     predicate.AnnotationsChanged(),
	} {
		check(t, p,
			row{name + " added", event{Type: informer.Added, Object: newObject()}, true},
			row{name + " initial", event{Type: informer.Added, Object: newObject(), Initial: true}, true},
			row{name + " deleted", event{Type: informer.Deleted, Object: newObject()}, true},
			row{name + " sent by a channel", event{Object: newObject()}, true},
		)
	}
}

func TestPredicateOfAGoTypeLeavesOutNoEventOfAnother(t *testing.T) {
	secret := &corev1.Secret{}
	for name, p := range map[string]accept{
		"Object": predicate.Object(func(obj) bool { return false }),
		"Event":  predicate.Event(func(informer.Event[obj]) bool { return false }),
	} {
		check(t, p,
			row{name + " of it", event{Type: informer.Added, Object: newObject()}, false},
			row{name + " update of it", updated(), false},
			row{name + " deletion of it", event{Type: informer.Deleted, Object: newObject()}, false},
			row{name + " of another", event{Type: informer.Added, Object: secret}, true},
			row{name + " update of another", event{Type: informer.Updated, Old: secret, Object: secret}, true},
		)
	}
}

func TestEventSeesAllOfTheEventInItsGoType(t *testing.T) {
	var seen informer.Event[obj]
	p := predicate.Event(func(e informer.Event[obj]) bool { seen = e; return true })
	before, after := newObject(), newObject(newVersion)
	p(event{Type: informer.Updated, Old: before, Object: after, Initial: true, FinalStateUnknown: true, Merged: true})
	want := informer.Event[obj]{Type: informer.Updated, Old: before, Object: after, Initial: true, FinalStateUnknown: true,
		Merged: true}
	if seen != want {
		t.Errorf("got %+v", seen)
	}
	if p(event{Type: informer.Deleted, Object: before}); seen.Old != nil || seen.Object != before {
		t.Errorf("got %+v of a deletion", seen)
	}
}

// Tests of operators call predicates with updates in which one of the objects is missing.
func TestUpdatesWithoutAnObject(t *testing.T) {
	for _, e := range []event{{Type: informer.Updated}, {Type: informer.Updated, Old: newObject()},
		{Type: informer.Updated, Object: newObject()}} {
		for name, p := range map[string]accept{
			"spec": predicate.SpecChanged(), "version": predicate.ResourceVersionChanged(),
			"labels": predicate.LabelsChanged(), "annotations": predicate.AnnotationsChanged(),
		} {
			if p(e) {
				t.Errorf("%s: %+v counts", name, e)
			}
		}
	}
}

// TestPredicatesSurviveUpdatesWithoutAnObject covers predicates that read the objects themselves. A typed nil pointer,
// which tests of typed handlers pass, also counts as a missing object.
func TestPredicatesSurviveUpdatesWithoutAnObject(t *testing.T) {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	bySelector, err := predicate.LabelSelectorPredicate(selector)
	if err != nil {
		t.Fatal(err)
	}
	var missing obj
	for name, p := range map[string]accept{
		"Matching":               predicate.Matching(labels.SelectorFromSet(selector.MatchLabels)),
		"LabelSelectorPredicate": bySelector,
		"OrEnding":               predicate.OrEnding(predicate.Matching(labels.SelectorFromSet(selector.MatchLabels))),
	} {
		check(t, p,
			row{name + ": no old object", event{Type: informer.Updated, Object: newObject()}, true},
			row{name + ": a nil pointer as old object", update(missing, newObject()), true},
			row{name + ": other labels", event{Type: informer.Updated, Object: newObject(newLabels)}, false},
			row{name + ": no new object, other labels", event{Type: informer.Updated, Old: newObject(newLabels)}, false},
			row{name + ": no object at all", event{Type: informer.Updated}, false},
			row{name + ": nil pointers", update(missing, missing), false},
			row{name + ": added without an object", event{Type: informer.Added}, false},
		)
	}
	check(t, predicate.SpecChanged(), row{"SpecChanged: nil pointers", update(missing, missing), false})
	check(t, predicate.LabelsChanged(), row{"LabelsChanged: nil pointers", update(missing, missing), false})
}

func TestLabelSelectorPredicateLooksAtTheNewState(t *testing.T) {
	p, err := predicate.LabelSelectorPredicate(metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, p,
		row{"starts to match", update(newObject(newLabels), newObject()), true},
		row{"stops to match", update(newObject(), newObject(newLabels)), false},
		row{"deleted", event{Type: informer.Deleted, Object: newObject()}, true},
	)
}
