package controllerutil_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// present has one object.
type present struct {
	client.Reader
	name string
}

func (p present) Get(_ context.Context, key object.Key, o object.Object, _ ...client.GetOption) error {
	if key.Name != p.name {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	o.SetName(key.Name)
	return nil
}

// names records the names of the objects that it reconciles.
type names[T object.Object] struct{ seen []string }

func (n *names[T]) Reconcile(_ context.Context, o T) (reconcile.Result, error) {
	n.seen = append(n.seen, o.GetName())
	o.SetName("changed") // the reconciler may change its copy
	return reconcile.Result{}, nil
}

// reconcileAll takes a reconciler for any type of object, as generic code does.
func reconcileAll[T object.Object](t *testing.T, r controllerutil.ObjectReconciler[T], keys ...string) {
	t.Helper()
	reconciler := controllerutil.AsReconciler(present{name: "a"}, r)
	for _, name := range keys {
		if _, err := reconciler.Reconcile(t.Context(),
			reconcile.Request{NamespacedName: object.Key{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestObjectsAreReadForTheirReconciler(t *testing.T) {
	n := &names[*corev1.ConfigMap]{}
	reconcileAll(t, n, "a", "gone", "a")
	if len(n.seen) != 2 || n.seen[0] != "a" || n.seen[1] != "a" {
		t.Errorf("the reconciler has seen %v, want a twice", n.seen)
	}
	defer func() {
		if recover() == nil {
			t.Error("objects are read into an interface")
		}
	}()
	controllerutil.AsReconciler(present{}, &names[object.Object]{})
}
