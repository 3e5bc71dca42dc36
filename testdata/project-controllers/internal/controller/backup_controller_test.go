/*
Copyright 2026.
*/

package controller_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/testenv"

	webv1 "example.com/website/api/v1"
	"example.com/website/internal/controller"
)

// TestBackupReconciler runs the manager against a real API server, which has the kind.
func TestBackupReconciler(t *testing.T) {
	env := testenv.Start(t, testenv.WithCRDs("../../config/crd/bases"))
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	m, err := manager.New(env.Config, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(webv1.AddToScheme(m.Scheme()), new(controller.BackupReconciler).SetupWithManager(m))
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- m.Run(ctx) }()

	// A request may come for an object that no longer exists. Create an object here, too, and wait for the result.
	reconciler := &controller.BackupReconciler{Client: m.Live()}
	result, err := reconciler.Reconcile(ctx, reconcile.Request{NamespacedName: object.Key{Namespace: "default", Name: "gone"}})
	if err != nil || result != (reconcile.Result{}) {
		t.Errorf("Reconcile returned %+v and %v, want neither a requeue nor an error", result, err)
	}

	stop()
	if err := <-stopped; err != nil {
		t.Errorf("the manager ended with an error: %v", err)
	}
}
