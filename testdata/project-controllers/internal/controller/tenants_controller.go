/*
Copyright 2026.
*/

package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	corev1 "k8s.io/api/core/v1"
)

// TenantsReconciler reconciles Namespace objects.
type TenantsReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch

// Reconcile is called after every change of the Namespace, and must be safe to call again at any time.
func (r *TenantsReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	namespace := &corev1.Namespace{}
	if err := r.Get(ctx, req.NamespacedName, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Namespace: %w", err)
	}

	// Implement what the Namespace requires here.

	log.FromContext(ctx).Debug("Namespace is reconciled", "generation", namespace.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Namespace objects.
func (r *TenantsReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*corev1.Namespace](m).
		Named("tenants").
		Complete(r)
}
