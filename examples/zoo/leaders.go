package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// leaders buys a license for each App. It checks for an existing license, waits for the vendor, and creates the
// license. With the bug, the license has a generated name, and the operator ignores the end of its context when it
// loses leadership. If the next leader checks before the old leader has created the license, the App gets two licenses.
type leaders struct{ kit }

func setupLeaders(m controller.Manager, fixed bool) error {
	return controller.For[*App](m).Owns(&corev1.ConfigMap{}).Complete(&leaders{kit{m.Client(), fixed}})
}

func (r *leaders) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &App{}
	if err := r.Get(ctx, req.NamespacedName, a); err != nil || !a.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	licenses := &corev1.ConfigMapList{}
	if err := r.List(ctx, licenses, client.InNamespace(a.Namespace), client.MatchingLabels{"app": a.Name}); err != nil {
		return reconcile.Result{}, err
	}
	if len(licenses.Items) > 0 {
		return reconcile.Result{}, nil
	}
	license := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.Namespace, Name: a.Name + "-license", Labels: map[string]string{"app": a.Name},
	}}
	if !r.fixed {
		license.Name, license.GenerateName = "", a.Name+"-license-"
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-time.After(10 * time.Second): // the vendor's answer
	case <-ctx.Done():
		return reconcile.Result{}, ctx.Err()
	}
	if err := controllerutil.SetControllerReference(a, license, r.Scheme()); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, client.IgnoreAlreadyExists(r.Create(ctx, license))
}
