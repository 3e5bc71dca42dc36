package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// staleOrphan registers each App in another namespace, and deletes the registrations of Apps that no longer exist. With
// the bug, it trusts its cache, which may lack a new App. The fixed operator reads from the API server first.
type staleOrphan struct{ kit }

func setupStaleOrphan(m controller.Manager, fixed bool) error {
	return controller.For[*App](m).Watches(handler.For(appOf)).Complete(&staleOrphan{kit{m.Client(), fixed}})
}

// appOf returns the App of a registration.
func appOf(_ context.Context, entry *corev1.ConfigMap) []reconcile.Request {
	if entry.Labels["app"] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: object.Key{Namespace: "default", Name: entry.Labels["app"]}}}
}

func (r *staleOrphan) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &App{}
	err := r.Get(ctx, req.NamespacedName, a)
	if apierrors.IsNotFound(err) && r.fixed {
		err = r.Get(ctx, req.NamespacedName, a, client.Live)
	}
	if apierrors.IsNotFound(err) {
		a.Namespace, a.Name = req.Namespace, req.Name
		return reconcile.Result{}, client.IgnoreNotFound(r.Delete(ctx, entryOf(a)))
	}
	if err != nil || !a.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, err
	}
	entry := entryOf(a)
	entry.Labels = map[string]string{"app": a.Name}
	_, err = controllerutil.ApplyIfDifferent(ctx, r.Client, entry, client.FieldOwner("zoo"))
	return reconcile.Result{}, err
}
