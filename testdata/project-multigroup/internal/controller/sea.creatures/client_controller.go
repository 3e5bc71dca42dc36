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

	seacreaturesv1alpha1 "example.org/fleet/api/sea.creatures/v1alpha1"
)

// ClientReconciler makes the actual state match the spec of each Client.
type ClientReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=sea.creatures.example.org,namespace=fleet-operator-system,resources=clients,verbs=get;list;watch
// +kubebuilder:rbac:groups=sea.creatures.example.org,namespace=fleet-operator-system,resources=clients/status,verbs=patch

// Reconcile is called after every change of the Client, and must be safe to call again at any time.
func (r *ClientReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	clientObject := &seacreaturesv1alpha1.Client{}
	if err := r.Get(ctx, req.NamespacedName, clientObject); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("Client is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get Client: %w", err)
	}
	if !clientObject.DeletionTimestamp.IsZero() {
		// Clean up external resources here, then remove the finalizer that kept the object.
		logger.Info("Client is being deleted")
		return reconcile.Result{}, nil
	}

	// Make the actual state match clientObject.Spec here.

	changed := meta.SetStatusCondition(&clientObject.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The actual state matches the spec",
		ObservedGeneration: clientObject.Generation,
	})
	if !changed && clientObject.Status.ObservedGeneration == clientObject.Generation {
		logger.Debug("Client is up to date", "generation", clientObject.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: this controller owns only the fields set here; other conditions keep their owners.
	desired := &seacreaturesv1alpha1.Client{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace},
		Status: seacreaturesv1alpha1.ClientStatus{
			ObservedGeneration: clientObject.Generation,
			Conditions:         []metav1.Condition{*meta.FindStatusCondition(clientObject.Status.Conditions, "Ready")},
		},
	}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("sea.creatures-client-controller"), client.ForceOwnership)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply status of Client: %w", err)
	}
	logger.Info("Client is ready", "generation", clientObject.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for Client objects.
func (r *ClientReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*seacreaturesv1alpha1.Client](m).
		Named("sea.creatures-client").
		Complete(r)
}
