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

	crewv1 "example.org/fleet/api/crew/v1"
	"example.org/fleet/internal/controller/crew"
)

// TestCaptainBecomesReady runs the manager against an API server in memory, or a real one with KCTRL_TEST_SERVER=real, and
// waits until an object is ready.
func TestCaptainBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(crewv1.AddToScheme(m.Scheme()), new(controller.CaptainReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	captain := &crewv1.Captain{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       crewv1.CaptainSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, captain); err != nil {
		t.Fatal(err)
	}
	captain = testenv.Await(ctx, t, m.Live(), captain, isCaptainReady)

	captain.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, captain); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, m.Live(), captain, isCaptainReady)

	// A request may come for an object that no longer exists.
	if err := m.Live().Delete(ctx, captain); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(ctx, t, m.Live(), captain)
	reconciler := &controller.CaptainReconciler{Client: m.Live()}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: object.KeyOf(captain)})
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// isCaptainReady reports whether the object's current generation is ready.
func isCaptainReady(captain *crewv1.Captain) bool {
	status := captain.Status
	return status.ObservedGeneration == captain.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready")
}
