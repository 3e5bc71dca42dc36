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

// HTTPRouteReconciler makes the world match the spec of each HTTPRoute.
type HTTPRouteReconciler struct {
	client.Client
}

// +kubebuilder:rbac:groups=example.org,namespace=fleet-operator-system,resources=httproutes,verbs=get;list;watch
// +kubebuilder:rbac:groups=example.org,namespace=fleet-operator-system,resources=httproutes/status,verbs=patch

// Reconcile is called for a HTTPRoute after every change of it, and must be safe to call again at any time.
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
		// The place to clean up what Kubernetes does not: afterwards remove the finalizer that kept the object.
		logger.Info("HTTPRoute is being deleted")
		return reconcile.Result{}, nil
	}

	// The place to make the world match httpRoute.Spec.

	changed := meta.SetStatusCondition(&httpRoute.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Reconciled",
		Message:            "The world matches the spec",
		ObservedGeneration: httpRoute.Generation,
	})
	if !changed && httpRoute.Status.ObservedGeneration == httpRoute.Generation {
		logger.Debug("HTTPRoute is up to date", "generation", httpRoute.Generation)
		return reconcile.Result{}, nil
	}

	// Server-side apply: only what is set here belongs to this controller, other conditions stay their owners'.
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

// SetupWithManager takes from m what the reconciler needs, and has it called for every HTTPRoute that changes.
func (r *HTTPRouteReconciler) SetupWithManager(m controller.Manager) error {
	r.Client = m.Client()
	return controller.For[*examplev2.HTTPRoute](m).
		Named("example-httproute").
		Complete(r)
}
