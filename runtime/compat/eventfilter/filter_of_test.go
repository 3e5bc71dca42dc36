package eventfilter_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/compat/eventfilter"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	kctrl "github.com/kctrl-dev/kctrl/runtime/object"
)

// scheduled is a predicate of pods, with a method of its own beside those that it embeds.
type scheduled struct {
	eventfilter.FuncsOf[*corev1.Pod]
}

func (scheduled) Update(e informer.Event[*corev1.Pod]) bool {
	return e.Old.Spec.NodeName != e.Object.Spec.NodeName
}

// relabelled has a method of its own beside those of a known eventfilter.
type relabelled struct {
	eventfilter.LabelChangedPredicate
}

func (relabelled) Delete(informer.Event[kctrl.Object]) bool { return false }

func TestOfAsksTheMethodsOfAGoType(t *testing.T) {
	p := eventfilter.Of(scheduled{})
	before, after := &corev1.Pod{}, &corev1.Pod{Spec: corev1.PodSpec{NodeName: "node"}}
	for name, test := range map[string]struct {
		event informer.Event[kctrl.Object]
		want  bool
	}{
		"an update that counts":     {informer.Event[kctrl.Object]{Type: informer.Updated, Old: before, Object: after}, true},
		"an update that does not":   {informer.Event[kctrl.Object]{Type: informer.Updated, Old: after, Object: after}, false},
		"what has no function":      {informer.Event[kctrl.Object]{Type: informer.Added, Object: before}, true},
		"an object of another type": {informer.Event[kctrl.Object]{Type: informer.Updated, Old: &corev1.Secret{}, Object: &corev1.Secret{}}, true},
	} {
		if got := p(test.event); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestKnownPredicatesAreEmbedded(t *testing.T) {
	p := eventfilter.Of(relabelled{})
	plain := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}
	labelled := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2", Labels: map[string]string{"a": "b"}}}
	if !p(informer.Event[kctrl.Object]{Type: informer.Updated, Old: plain, Object: labelled}) {
		t.Error("new labels do not count")
	}
	if p(informer.Event[kctrl.Object]{Type: informer.Updated, Old: labelled, Object: labelled}) {
		t.Error("an update with the same labels counts")
	}
	if p(informer.Event[kctrl.Object]{Type: informer.Deleted, Object: labelled}) {
		t.Error("the method of the type is not asked")
	}
	for _, filter := range []eventfilter.Filter{eventfilter.GenerationChangedPredicate{}, eventfilter.AnnotationChangedPredicate{}, eventfilter.ResourceVersionChangedPredicate{}} {
		if eventfilter.Of(filter)(informer.Event[kctrl.Object]{Type: informer.Updated, Old: plain, Object: plain}) {
			t.Errorf("%T: an update that changes nothing counts", filter)
		}
		if !eventfilter.Of(filter)(informer.Event[kctrl.Object]{Type: informer.Generic, Object: plain}) {
			t.Errorf("%T: what is no update does not count", filter)
		}
	}
}

// TestGenerationChangedPredicateLooksAtTheGenerationAlone: a deletion and changes of finalizers do not count, nor do
// kinds without one.
func TestGenerationChangedPredicateLooksAtTheGenerationAlone(t *testing.T) {
	pod := func(generation int64, change ...func(*corev1.Pod)) kctrl.Object {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: generation, ResourceVersion: "1"}}
		for _, c := range change {
			c(p)
		}
		return p
	}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
	finalizer := func(p *corev1.Pod) { p.Finalizers = []string{"a/b"} }
	newer := func(p *corev1.Pod) { p.ResourceVersion = "2" }
	var missing *corev1.Pod
	p := eventfilter.Of(eventfilter.GenerationChangedPredicate{})
	for name, test := range map[string]struct {
		old, object kctrl.Object
		want        bool
	}{
		"new generation":              {pod(1), pod(2), true},
		"status":                      {pod(1), pod(1, newer), false},
		"deletion timestamp":          {pod(1), pod(1, deleted), false},
		"last finalizer":              {pod(1, finalizer), pod(1), false},
		"a kind without a generation": {pod(0), pod(0, newer), false},
		"no new object":               {pod(1), nil, false},
		"no old object":               {nil, pod(1), false},
		"nil pointers":                {missing, missing, false},
	} {
		if got := p(informer.Event[kctrl.Object]{Type: informer.Updated, Old: test.old, Object: test.object}); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestFunctionsAreAskedAboutUpdatesWithoutAnObject(t *testing.T) {
	for _, e := range []informer.Event[kctrl.Object]{{Old: &corev1.Pod{}}, {Object: &corev1.Pod{}}, {}} {
		asked := false
		e.Type = informer.Updated
		own := eventfilter.Of(eventfilter.Funcs{UpdateFunc: func(informer.Event[kctrl.Object]) bool { asked = true; return false }})
		if own(e) || !asked {
			t.Errorf("it is not asked about %+v", e)
		}
	}
}
