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

	shipv1beta1 "example.org/fleet/api/ship/v1beta1"
	"example.org/fleet/internal/controller/ship"
)

// TestFrigateBecomesReady runs the manager against an API server in memory, or a real one with KCTRL_TEST_SERVER=real, and
// waits until an object is ready.
func TestFrigateBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(shipv1beta1.AddToScheme(m.Scheme()), new(controller.FrigateReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	frigate := &shipv1beta1.Frigate{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       shipv1beta1.FrigateSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, frigate); err != nil {
		t.Fatal(err)
	}
	frigate = testenv.Await(ctx, t, m.Live(), frigate, isFrigateReady)

	frigate.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, frigate); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, m.Live(), frigate, isFrigateReady)

	// A request may come for an object that no longer exists.
	if err := m.Live().Delete(ctx, frigate); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(ctx, t, m.Live(), frigate)
	reconciler := &controller.FrigateReconciler{Client: m.Live()}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: object.KeyOf(frigate)})
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// isFrigateReady reports whether the object's current generation is ready.
func isFrigateReady(frigate *shipv1beta1.Frigate) bool {
	status := frigate.Status
	return status.ObservedGeneration == frigate.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready")
}
