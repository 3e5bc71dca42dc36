package storedcontext

import (
	"context"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	kreconcile "github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct {
	client.Client
	ctx context.Context // want `storedcontext: reconciler stores a context`
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, r.Get(r.ctx, req.NamespacedName, &corev1.Pod{}) // want `Get uses the context in field ctx instead of ctx`
}

type own struct {
	kclient.Client
	base context.Context // want `own stores a context`
}

func (o *own) Reconcile(ctx context.Context, req kreconcile.Request) (kreconcile.Result, error) {
	return kreconcile.Result{}, o.Get(ctx, req.NamespacedName, &corev1.Pod{})
}

type step struct{ ctx context.Context }

func (s *step) do(c client.Client) error { return c.Update(s.ctx, &corev1.Pod{}) }
