package unwatchedread

import (
	"context"

	v1 "example.com/api/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// references reads the kinds of both reconcilers below for each of them.
func references(ctx context.Context, c client.Client, req ctrl.Request) error {
	if err := c.Get(ctx, req.NamespacedName, &v1.Site{}); err != nil {
		return err
	}
	return c.Get(ctx, req.NamespacedName, &corev1.Pod{})
}

// Policies may be called by the reconcilers of other packages.
func Policies(ctx context.Context, c client.Client, req ctrl.Request) error {
	return c.Get(ctx, req.NamespacedName, &corev1.Service{})
}

type sites struct{ client.Client }

func (s *sites) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, references(ctx, s.Client, req)
}

func (s *sites) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&v1.Site{}).Complete(s)
}

type podReconciler struct{ client.Client }

func (p *podReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := p.Get(ctx, req.NamespacedName, &v1.Site{}); err != nil { // want `reads Site`
		return ctrl.Result{}, err
	}
	if err := Policies(ctx, p.Client, req); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, references(ctx, p.Client, req)
}

func (p *podReconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&corev1.Pod{}).Complete(p)
}
