package controllerutil_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		UID: types.UID("uid-of-" + name)}}
}

func secret(namespace, name string, owners ...metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}}
}

func TestSetControllerReferenceMakesTheOwnerControl(t *testing.T) {
	o := secret("ns", "s", metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "other", UID: "uid-of-other"})
	for range 2 {
		if err := controllerutil.SetControllerReference(configMap("ns", "a"), o, newScheme(t)); err != nil {
			t.Fatal(err)
		}
	}
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "ConfigMap" || ref.Name != "a" || ref.UID != "uid-of-a" ||
		!*ref.BlockOwnerDeletion {
		t.Errorf("got %+v", ref)
	}
	if refs := o.OwnerReferences; len(refs) != 2 || refs[0].Name != "other" {
		t.Errorf("got %+v", refs)
	}
}

func TestSetControllerReferenceRenewsTheReferenceOfTheSameOwner(t *testing.T) {
	o := secret("ns", "s", metav1.OwnerReference{APIVersion: "v1alpha1", Kind: "ConfigMap", Name: "a", UID: "uid-of-a"})
	if err := controllerutil.SetControllerReference(configMap("ns", "a"), o, newScheme(t)); err != nil {
		t.Fatal(err)
	}
	if refs := o.OwnerReferences; len(refs) != 1 || refs[0].APIVersion != "v1" || !*refs[0].Controller {
		t.Errorf("got %+v", refs)
	}
}

func TestClusterScopedOwnerMayOwnAnything(t *testing.T) {
	for _, o := range []object.Object{secret("ns", "s"), secret("", "s")} {
		if err := controllerutil.SetControllerReference(configMap("", "a"), o, newScheme(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestSetControllerReferenceRefuses(t *testing.T) {
	controlled := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "other", UID: "uid-of-other",
		Controller: new(true)}
	earlier := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "uid-of-earlier",
		Controller: new(true)}
	for _, r := range []struct {
		name   string
		owner  object.Object
		o      object.Object
		scheme *runtime.Scheme
		want   string
	}{
		{"an object that another one controls", configMap("ns", "a"), secret("ns", "s", controlled), newScheme(t),
			"ns/s is controlled by Pod other"},
		{"an object of an earlier owner of that name", configMap("ns", "a"), secret("ns", "s", earlier), newScheme(t),
			"ns/s is controlled by ConfigMap a (UID uid-of-earlier)"},
		{"an owner in another namespace", configMap("one", "a"), secret("two", "s"), newScheme(t),
			"ConfigMap one/a cannot own two/s in another namespace"},
		{"a namespaced owner of a cluster-scoped object", configMap("one", "a"), secret("", "s"), newScheme(t),
			"ConfigMap one/a cannot own s, which has no namespace: " +
				"set its namespace to one, or choose a cluster-scoped owner"},
		{"a kind that the scheme does not know", configMap("ns", "a"), secret("ns", "s"), runtime.NewScheme(), "ConfigMap"},
	} {
		before := len(r.o.GetOwnerReferences())
		err := controllerutil.SetControllerReference(r.owner, r.o, r.scheme)
		if err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got %v", r.name, err)
		}
		// Callers of controller-runtime use a type assertion instead of errors.As, so the error must not be wrapped.
		if _, owned := err.(*controllerutil.AlreadyOwnedError); owned != strings.Contains(r.want, "is controlled by") {
			t.Errorf("%s: got %T", r.name, err)
		}
		if len(r.o.GetOwnerReferences()) != before {
			t.Errorf("%s: the object was changed", r.name)
		}
	}
}

func TestBlockOwnerDeletionIsAnOption(t *testing.T) {
	o, owner, scheme := secret("ns", "s"), configMap("ns", "a"), newScheme(t)
	if err := controllerutil.SetControllerReference(owner, o, scheme,
		controllerutil.WithBlockOwnerDeletion(false)); err != nil {
		t.Fatal(err)
	}
	if ref := o.OwnerReferences[0]; *ref.BlockOwnerDeletion || !*ref.Controller {
		t.Errorf("got %+v", ref)
	}
	if err := controllerutil.SetOwnerReference(owner, o, scheme); err != nil {
		t.Fatal(err)
	}
	if ref := o.OwnerReferences[0]; len(o.OwnerReferences) != 1 || *ref.BlockOwnerDeletion || !*ref.Controller {
		t.Errorf("after SetOwnerReference: got %+v", o.OwnerReferences)
	}
}

func TestSetOwnerReferenceReplacesAnEarlierOwnerOfTheName(t *testing.T) {
	earlier := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "uid-of-earlier"}
	controlling := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "a", UID: "uid-of-pod",
		Controller: new(true)}
	o := secret("ns", "s", earlier, controlling)
	if err := controllerutil.SetOwnerReference(configMap("ns", "a"), o, newScheme(t),
		controllerutil.WithBlockOwnerDeletion(true)); err != nil {
		t.Fatal(err)
	}
	if refs := o.OwnerReferences; len(refs) != 2 || refs[0].UID != "uid-of-pod" || refs[1].UID != "uid-of-a" ||
		refs[1].Controller != nil || !*refs[1].BlockOwnerDeletion {
		t.Errorf("got %+v", refs)
	}
	if err := controllerutil.SetOwnerReference(configMap("other", "a"), o, newScheme(t)); err == nil {
		t.Error("an owner in another namespace was set")
	}
}

func TestOwnerReferencesAreFoundAndRemoved(t *testing.T) {
	scheme, a, b, o := newScheme(t), configMap("ns", "a"), configMap("ns", "b"), secret("ns", "s")
	if err := errors.Join(controllerutil.SetControllerReference(a, o, scheme),
		controllerutil.SetOwnerReference(b, o, scheme)); err != nil {
		t.Fatal(err)
	}
	again := configMap("ns", "a")
	again.UID = "uid-of-another-a"
	unknown := configMap("ns", "a")
	unknown.UID = ""
	for owner, want := range map[*corev1.ConfigMap]bool{a: true, b: true, again: false, unknown: true} {
		if got, err := controllerutil.HasOwnerReference(o.OwnerReferences, owner, scheme); err != nil || got != want {
			t.Errorf("%s (%s): got %t, %v", owner.Name, owner.UID, got, err)
		}
	}
	if err := controllerutil.RemoveControllerReference(b, o, scheme); err == nil ||
		!controllerutil.HasControllerReference(o) {
		t.Errorf("got %v, %v", err, o.OwnerReferences)
	}
	if err := controllerutil.RemoveControllerReference(a, o, scheme); err != nil ||
		controllerutil.HasControllerReference(o) {
		t.Errorf("got %v, %v", err, o.OwnerReferences)
	}
	if err := controllerutil.RemoveOwnerReference(b, o, scheme); err != nil || len(o.OwnerReferences) != 0 {
		t.Errorf("got %v, %v", err, o.OwnerReferences)
	}
	if err := controllerutil.RemoveOwnerReference(b, o, scheme); err == nil {
		t.Error("no owner was removed, and there is no error")
	}
}

func TestFinalizersAreAddedAndRemovedOnce(t *testing.T) {
	const name = "example.com/cleanup"
	o := configMap("ns", "a")
	steps := []bool{
		!controllerutil.ContainsFinalizer(o, name), controllerutil.AddFinalizer(o, name),
		!controllerutil.AddFinalizer(o, name),
		controllerutil.ContainsFinalizer(o, name), controllerutil.RemoveFinalizer(o, name),
		!controllerutil.RemoveFinalizer(o, name), len(o.Finalizers) == 0,
	}
	for n, ok := range steps {
		if !ok {
			t.Errorf("step %d went wrong", n)
		}
	}
}

func TestConditionsHaveTheObservedGeneration(t *testing.T) {
	o := configMap("ns", "a")
	o.Generation = 3
	var conditions []metav1.Condition
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Done"}
	if !controllerutil.SetCondition(o, &conditions, ready) || conditions[0].ObservedGeneration != 3 ||
		conditions[0].LastTransitionTime.IsZero() {
		t.Errorf("got %v", conditions)
	}
	if controllerutil.SetCondition(o, &conditions, ready) {
		t.Error("the same condition is a change")
	}
	at := conditions[0].LastTransitionTime
	o.Generation = 4
	if !controllerutil.SetCondition(o, &conditions, ready) || conditions[0].ObservedGeneration != 4 ||
		conditions[0].LastTransitionTime != at {
		t.Errorf("got %v", conditions)
	}
}

// TestOwnersAreWhatHasMetadata passes owners and objects as metav1.Object.
func TestOwnersAreWhatHasMetadata(t *testing.T) {
	var owner, owned metav1.Object = configMap("ns", "a"), secret("ns", "s")
	if err := controllerutil.SetControllerReference(owner, owned, newScheme(t)); err != nil {
		t.Fatal(err)
	}
	if ref := metav1.GetControllerOf(owned); ref == nil || ref.Kind != "ConfigMap" || ref.UID != owner.GetUID() {
		t.Errorf("got %+v", ref)
	}
	if err := controllerutil.RemoveControllerReference(owner, owned, newScheme(t)); err != nil ||
		len(owned.GetOwnerReferences()) != 0 {
		t.Errorf("got %v, %v", owned.GetOwnerReferences(), err)
	}
	var meta metav1.Object = &metav1.ObjectMeta{Name: "a", Namespace: "ns"}
	if err := controllerutil.SetOwnerReference(meta, owned, newScheme(t)); err == nil ||
		!strings.Contains(err.Error(), "*v1.ObjectMeta is not an API object") {
		t.Errorf("metadata alone: got %v", err)
	}
}
