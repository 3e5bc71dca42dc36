package predicate_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	kctrl "github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
)

// scheduled is a predicate of pods, with a method of its own beside those that it embeds.
type scheduled struct {
	predicate.FuncsOf[*corev1.Pod]
}

func (scheduled) Update(e informer.Event[*corev1.Pod]) bool {
	return e.Old.Spec.NodeName != e.Object.Spec.NodeName
}

// relabelled has a method of its own beside those of a known predicate.
type relabelled struct {
	predicate.LabelChangedPredicate
}

func (relabelled) Delete(informer.Event[kctrl.Object]) bool { return false }

func TestOfAsksTheMethodsOfAGoType(t *testing.T) {
	p := predicate.Of(scheduled{})
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
	p := predicate.Of(relabelled{})
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
	for _, filter := range []predicate.Filter{predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.ResourceVersionChangedPredicate{}} {
		if predicate.Of(filter)(informer.Event[kctrl.Object]{Type: informer.Updated, Old: plain, Object: plain}) {
			t.Errorf("%T: an update that changes nothing counts", filter)
		}
		if !predicate.Of(filter)(informer.Event[kctrl.Object]{Type: informer.Sync, Object: plain}) {
			t.Errorf("%T: what is no update does not count", filter)
		}
	}
}
