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

	examplev2 "example.org/fleet/api/v2"
	"example.org/fleet/internal/controller"
)

// TestHTTPRouteBecomesReady runs the manager against an API server in memory, or a real one with KCTRL_TEST_SERVER=real, and
// waits until an object is ready.
func TestHTTPRouteBecomesReady(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(examplev2.AddToScheme(m.Scheme()), new(controller.HTTPRouteReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	httpRoute := &examplev2.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default"},
		Spec:       examplev2.HTTPRouteSpec{Message: "hello"},
	}
	if err := m.Live().Create(ctx, httpRoute); err != nil {
		t.Fatal(err)
	}
	httpRoute = testenv.Await(ctx, t, m.Live(), httpRoute, isHTTPRouteReady)

	httpRoute.Spec.Message = "hello again"
	if err := m.Live().Update(ctx, httpRoute); err != nil {
		t.Fatal(err)
	}
	testenv.Await(ctx, t, m.Live(), httpRoute, isHTTPRouteReady)

	// A request may come for an object that no longer exists.
	if err := m.Live().Delete(ctx, httpRoute); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitGone(ctx, t, m.Live(), httpRoute)
	reconciler := &controller.HTTPRouteReconciler{Client: m.Live()}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: object.KeyOf(httpRoute)})
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}

// isHTTPRouteReady reports whether the object's current generation is ready.
func isHTTPRouteReady(httpRoute *examplev2.HTTPRoute) bool {
	status := httpRoute.Status
	return status.ObservedGeneration == httpRoute.Generation && meta.IsStatusConditionTrue(status.Conditions, "Ready")
}
