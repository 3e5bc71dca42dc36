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

	examplev2 "example.org/fleet/api/v2"
)

// HTTPRouteReconciler makes the actual state match the spec of each HTTPRoute.
type HTTPRouteReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=example.org,namespace=fleet-operator-system,resources=httproutes,verbs=get;list;watch
// +kubebuilder:rbac:groups=example.org,namespace=fleet-operator-system,resources=httproutes/status,verbs=patch

// Reconcile is called after every change of the HTTPRoute, and must be safe to call again at any time.
func (r *HTTPRouteReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	logger := log.FromContext(ctx)

	httpRoute := &examplev2.HTTPRoute{}
	if err := r.Get(ctx, req.NamespacedName, httpRoute); err != nil {
		if apierrors.IsNotFound(err) {
			logger.Info("HTTPRoute is gone")
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("get HTTPRoute: %w", err)
	}
	if !httpRoute.DeletionTimestamp.IsZero() {
		// Clean up external resources here, then remove the finalizer that kept the object.
		logger.Info("HTTPRoute is being deleted")
		return reconcile.Result{}, nil
	}

	// Make the actual state match httpRoute.Spec here.

	changed := meta.SetStatusCondition(&httpRoute.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The actual state matches the spec",
		ObservedGeneration: httpRoute.Generation,
	})
	if !changed && httpRoute.Status.ObservedGeneration == httpRoute.Generation {
		logger.Debug("HTTPRoute is up to date", "generation", httpRoute.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: this controller owns only the fields set here; other conditions keep their owners.
	desired := &examplev2.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: req.Name, Namespace: req.Namespace},
		Status: examplev2.HTTPRouteStatus{
			ObservedGeneration: httpRoute.Generation,
			Conditions:         []metav1.Condition{*meta.FindStatusCondition(httpRoute.Status.Conditions, "Ready")},
		},
	}
	err := r.Status().Apply(ctx, desired, client.FieldOwner("example-httproute-controller"), client.ForceOwnership)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply status of HTTPRoute: %w", err)
	}
	logger.Info("HTTPRoute is ready", "generation", httpRoute.Generation)
	return reconcile.Result{}, nil
}

// SetupWithManager takes the client from m, and registers the reconciler for HTTPRoute objects.
func (r *HTTPRouteReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*examplev2.HTTPRoute](m).
		Named("example-httproute").
		Complete(r)
}
