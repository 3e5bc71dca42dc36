/*
Copyright 2026.
*/

package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	shipv1beta1 "example.org/fleet/api/ship/v1beta1"
)

// FrigateReconciler makes the actual state match the spec of each Frigate.
type FrigateReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=ship.example.org,namespace=fleet-operator-system,resources=frigates,verbs=get;list;watch
// +kubebuilder:rbac:groups=ship.example.org,namespace=fleet-operator-system,resources=frigates/status,verbs=patch

// Reconcile is called after every change of the Frigate, and must be safe to call again at any time.
func (r *FrigateReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	frigate := &shipv1beta1.Frigate{}
	if err := r.Get(ctx, req.NamespacedName, frigate); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("Frigate is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Frigate: %w", err)
	}
	if !frigate.DeletionTimestamp.IsZero() {
		// Clean up external resources here, then remove the finalizer that kept the object.
		logger.Info("Frigate is being deleted")
		return reconcile.Result{}, nil
	}

	// Make the actual state match frigate.Spec here.

	changed := meta.SetStatusCondition(&frigate.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The actual state matches the spec",
		ObservedGeneration: frigate.Generation,
	})
	if !changed && frigate.Status.ObservedGeneration == frigate.Generation {
		logger.Debug("Frigate is up to date", "generation", frigate.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: this controller owns only the fields set here; other conditions keep their owners.
	desired := &shipv1beta1.Frigate{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace},
		Status: shipv1beta1.FrigateStatus{
			ObservedGeneration: frigate.Generation,
			Conditions:         []metav1.Condition{*meta.FindStatusCondition(frigate.Status.Conditions, "Ready")},
		},
	}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("ship-frigate-controller"), client.ForceOwnership)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply status of Frigate: %w", err)
	}
	logger.Info("Frigate is ready", "generation", frigate.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Frigate objects.
func (r *FrigateReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*shipv1beta1.Frigate](m).
		Named("ship-frigate").
		Complete(r)
}
