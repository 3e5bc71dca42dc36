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

	webv1 "example.com/website/api/v1"
)

// BackupReconciler reconciles Site objects.
type BackupReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups="web.example.com",resources=sites,verbs=get;list;watch

// Reconcile is called after every change of the Site, and must be safe to call again at any time.
func (r *BackupReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	site := &webv1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Site: %w", err)
	}

	// Implement what the Site requires here.

	log.FromContext(ctx).Debug("Site is reconciled", "generation", site.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Site objects.
func (r *BackupReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*webv1.Site](m).
		Named("backup").
		Complete(r)
}
