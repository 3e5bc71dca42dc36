package controller_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/controller"
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
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-of-" + name)}}
}

func secret(namespace, name string, owners ...metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: owners}}
}

func TestSetControllerReferenceMakesTheOwnerControl(t *testing.T) {
	o := secret("ns", "s", metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "other", UID: "uid-of-other"})
	for range 2 {
		if err := controller.SetControllerReference(configMap("ns", "a"), o, newScheme(t)); err != nil {
			t.Fatal(err)
		}
	}
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.APIVersion != "v1" || ref.Kind != "ConfigMap" || ref.Name != "a" || ref.UID != "uid-of-a" || !*ref.BlockOwnerDeletion {
		t.Errorf("got %+v", ref)
	}
	if refs := o.OwnerReferences; len(refs) != 2 || refs[0].Name != "other" {
		t.Errorf("got %+v", refs)
	}
}

func TestSetControllerReferenceRenewsTheReferenceOfTheSameOwner(t *testing.T) {
	o := secret("ns", "s", metav1.OwnerReference{APIVersion: "v1alpha1", Kind: "ConfigMap", Name: "a", UID: "uid-of-a"})
	if err := controller.SetControllerReference(configMap("ns", "a"), o, newScheme(t)); err != nil {
		t.Fatal(err)
	}
	if refs := o.OwnerReferences; len(refs) != 1 || refs[0].APIVersion != "v1" || !*refs[0].Controller {
		t.Errorf("got %+v", refs)
	}
}

func TestClusterScopedOwnerMayOwnAnything(t *testing.T) {
	for _, o := range []object.Object{secret("ns", "s"), secret("", "s")} {
		if err := controller.SetControllerReference(configMap("", "a"), o, newScheme(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestSetControllerReferenceRefuses(t *testing.T) {
	controlled := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "other", UID: "uid-of-other", Controller: new(true)}
	earlier := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "a", UID: "uid-of-earlier", Controller: new(true)}
	for _, r := range []struct {
		name   string
		owner  object.Object
		o      object.Object
		scheme *runtime.Scheme
		want   string
	}{
		{"an object that another one controls", configMap("ns", "a"), secret("ns", "s", controlled), newScheme(t), "ns/s is controlled by Pod other"},
		{"an object of an earlier owner of that name", configMap("ns", "a"), secret("ns", "s", earlier), newScheme(t), "ns/s is controlled by ConfigMap a (UID uid-of-earlier)"},
		{"an owner in another namespace", configMap("one", "a"), secret("two", "s"), newScheme(t), "ConfigMap one/a cannot own two/s in another namespace"},
		{"a namespaced owner of a cluster-scoped object", configMap("one", "a"), secret("", "s"), newScheme(t), "cannot own"},
		{"a kind that the scheme does not know", configMap("ns", "a"), secret("ns", "s"), runtime.NewScheme(), "ConfigMap"},
	} {
		before := len(r.o.GetOwnerReferences())
		err := controller.SetControllerReference(r.owner, r.o, r.scheme)
		if err == nil || !strings.Contains(err.Error(), r.want) {
			t.Errorf("%s: got %v", r.name, err)
		}
		if len(r.o.GetOwnerReferences()) != before {
			t.Errorf("%s: the object was changed", r.name)
		}
	}
}
