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

	appsv1 "k8s.io/api/apps/v1"
)

// DeploymentReconciler reconciles Deployment objects.
type DeploymentReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups="apps",resources=deployments,verbs=get;list;watch

// Reconcile is called after every change of the Deployment, and must be safe to call again at any time.
func (r *DeploymentReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	deploymentObject := &appsv1.Deployment{}
	if err := r.Get(ctx, req.NamespacedName, deploymentObject); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Deployment: %w", err)
	}

	// Implement what the Deployment requires here.

	log.FromContext(ctx).Debug("Deployment is reconciled", "generation", deploymentObject.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Deployment objects.
func (r *DeploymentReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*appsv1.Deployment](m).
		Named("deployment").
		Complete(r)
}
