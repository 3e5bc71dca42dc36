package sim_test

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/sim"
)

// Rules returns the rules of an operator that keeps a Secret for each ConfigMap.
func Rules() []sim.Rule {
	return []sim.Rule{
		sim.Eventually("each ConfigMap has a Secret", func(o sim.Objects) error {
			var all []error
			for _, c := range sim.List[*corev1.ConfigMap](o) {
				if _, ok := sim.Find[*corev1.Secret](o, object.KeyOf(c)); !ok {
					all = append(all, fmt.Errorf("%s has none", object.KeyOf(c)))
				}
			}
			return errors.Join(all...)
		}),
	}
}

func objects(t *testing.T, all ...runtime.Object) sim.Objects {
	t.Helper()
	o := sim.Objects{Scheme: runtime.NewScheme()}
	if err := corev1.AddToScheme(o.Scheme); err != nil {
		t.Fatal(err)
	}
	for _, item := range all {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(item)
		if err != nil {
			t.Fatal(err)
		}
		o.Items = append(o.Items, &unstructured.Unstructured{Object: content})
	}
	return o
}

func config(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}
}

func secret(name string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
	}
}

func TestRulesReadTypedObjects(t *testing.T) {
	rule := Rules()[0]
	if rule.Always {
		t.Error("Eventually holds after each write")
	}
	if err := rule.Check(objects(t, config("b"), config("a"), secret("b"))); err == nil ||
		err.Error() != "default/a has none" {
		t.Errorf("got %v", err)
	}
	if err := rule.Check(objects(t)); err != nil {
		t.Errorf("without objects: %v", err)
	}
	all := sim.List[*corev1.ConfigMap](objects(t, config("b"), config("a")))
	if len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("got %v, want a before b", all)
	}
}

func TestListOfAnUnknownTypePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	sim.List[*corev1.Secret](sim.Objects{Scheme: runtime.NewScheme()})
}
