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

	crewv1 "example.org/fleet/api/crew/v1"
)

// CaptainReconciler makes the actual state match the spec of each Captain.
type CaptainReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=crew.example.org,namespace=fleet-operator-system,resources=captains,verbs=get;list;watch
// +kubebuilder:rbac:groups=crew.example.org,namespace=fleet-operator-system,resources=captains/status,verbs=patch

// Reconcile is called after every change of the Captain, and must be safe to call again at any time.
func (r *CaptainReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	captain := &crewv1.Captain{}
	if err := r.Get(ctx, req.NamespacedName, captain); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("Captain is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Captain: %w", err)
	}
	if !captain.DeletionTimestamp.IsZero() {
		// Clean up external resources here, then remove the finalizer that kept the object.
		logger.Info("Captain is being deleted")
		return reconcile.Result{}, nil
	}

	// Make the actual state match captain.Spec here.

	changed := meta.SetStatusCondition(&captain.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The actual state matches the spec",
		ObservedGeneration: captain.Generation,
	})
	if !changed && captain.Status.ObservedGeneration == captain.Generation {
		logger.Debug("Captain is up to date", "generation", captain.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: this controller owns only the fields set here; other conditions keep their owners.
	desired := &crewv1.Captain{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace},
		Status: crewv1.CaptainStatus{
			ObservedGeneration: captain.Generation,
			Conditions:         []metav1.Condition{*meta.FindStatusCondition(captain.Status.Conditions, "Ready")},
		},
	}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("crew-captain-controller"), client.ForceOwnership)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply status of Captain: %w", err)
	}
	logger.Info("Captain is ready", "generation", captain.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Captain objects.
func (r *CaptainReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*crewv1.Captain](m).
		Named("crew-captain").
		Complete(r)
}
