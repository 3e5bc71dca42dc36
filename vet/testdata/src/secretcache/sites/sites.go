// Package sites contains a controller that owns Secrets.
package sites

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
)

type reconciler struct{}

func (reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// Setup sets up the controller.
func Setup(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&corev1.Pod{}).Owns(&corev1.Secret{}).Complete(reconciler{})
}
