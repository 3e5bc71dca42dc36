package predicate_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
)

func TestEndOfAnObjectCannotBeLeftOut(t *testing.T) {
	type obj = *metav1.PartialObjectMetadata
	state := func(change func(obj)) obj {
		o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}
		change(o)
		return o
	}
	same := state(func(obj) {})
	finalized := state(func(o obj) { o.Finalizers = []string{"x"} })
	ending := state(func(o obj) {
		o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1,
			0)}
		o.Finalizers = []string{"x"}
	})
	labelled := state(func(o obj) { o.Labels = map[string]string{"a": "b"} })
	onlyGeneration := predicate.Event(func(e informer.Event[obj]) bool {
		return e.Type != informer.Updated || e.Old.Generation != e.Object.Generation
	})
	notA := predicate.Object(func(o obj) bool { return o.Name != "a" })
	for _, r := range []struct {
		what          string
		p             predicate.Predicate
		before, after obj
		want          bool
	}{
		{"a label", onlyGeneration, same, labelled, false},
		{"a finalizer", onlyGeneration, same, finalized, true},
		{"the last finalizer", onlyGeneration, ending, state(func(o obj) { o.DeletionTimestamp = ending.DeletionTimestamp }),
			true},
		{"the deletion", onlyGeneration, finalized, ending, true},
		{"the deletion of an object that does not count", predicate.And(onlyGeneration, notA), finalized, ending, false},
		{"nothing", onlyGeneration, same, same, false},
	} {
		e := informer.Event[object.Object]{Type: informer.Updated, Old: r.before, Object: r.after}
		if got := predicate.OrEnding(r.p)(e); got != r.want {
			t.Errorf("%s: got %t", r.what, got)
		}
	}
	if predicate.OrEnding(notA)(informer.Event[object.Object]{Type: informer.Deleted, Object: ending}) {
		t.Error("the deletion of what does not count has counted")
	}
}
