/*
Copyright 2026.
*/

package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	seacreaturesv1alpha1 "example.org/fleet/api/sea-creatures/v1alpha1"
	"example.org/fleet/internal/controller/sea-creatures"
)

// TestClientBecomesReady runs the manager against an API server in memory, or a real one with KCTRL_TEST_SERVER=real, and
// waits until an object is ready.
func TestClientBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(seacreaturesv1alpha1.AddToScheme(m.Scheme()), new(controller.ClientReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	clientObject := &seacreaturesv1alpha1.Client{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       seacreaturesv1alpha1.ClientSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, clientObject); err != nil {
		t.Fatal(err)
	}
	clientObject = testenv.Await(ctx, t, m.Live(), clientObject, isClientReady)

	clientObject.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, clientObject); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, m.Live(), clientObject, isClientReady)

	// A request may come for an object that no longer exists.
	if err := m.Live().Delete(ctx, clientObject); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(ctx, t, m.Live(), clientObject)
	reconciler := &controller.ClientReconciler{Client: m.Live()}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: object.KeyOf(clientObject)})
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// isClientReady reports whether the object's current generation is ready.
func isClientReady(clientObject *seacreaturesv1alpha1.Client) bool {
	status := clientObject.Status
	return status.ObservedGeneration == clientObject.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready")
}
