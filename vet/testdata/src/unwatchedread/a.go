package unwatchedread

import (
	"context"
	"time"

	v1 "example.com/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct {
	client.Client
	APIReader client.Reader
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site v1.Site
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, err
	}
	var deployment appsv1.Deployment
	if err := r.Get(ctx, req.NamespacedName, &deployment); err != nil {
		return ctrl.Result{}, err
	}
	var namespace corev1.Namespace
	if err := r.APIReader.Get(ctx, req.NamespacedName, &namespace); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.check(ctx, req)
}

func (r *reconciler) check(ctx context.Context, req ctrl.Request) error {
	var service corev1.Service
	if err := r.Get(ctx, req.NamespacedName, &service); err != nil { // want `unwatchedread: \(\*reconciler\).Reconcile reads Service, which the controller does not watch`
		return err
	}
	var pods corev1.PodList
	return r.List(ctx, &pods) // want `reads Pod`
}

func (r *reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&v1.Site{}).Owns(&appsv1.Deployment{}).Complete(r)
}

type poller struct{ client.Client }

func (p *poller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var service corev1.Service
	if err := p.Get(ctx, req.NamespacedName, &service); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

func (p *poller) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&v1.Site{}).Complete(p)
}

type dynamic struct{ client.Client }

func (d *dynamic) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var service corev1.Service
	return ctrl.Result{}, d.Get(ctx, req.NamespacedName, &service)
}

func (d *dynamic) SetupWithManager(m ctrl.Manager, source any) error {
	return ctrl.NewControllerManagedBy(m).For(&v1.Site{}).WatchesRawSource(source).Complete(d)
}
