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

// What runs only while the object is deleted removes the finalizer at its end, or retries after an error.
type finalizing struct{ client.Client }

func (f *finalizing) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site v1.Site
	if err := f.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, err
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, f.cleanUp(ctx, req)
	}
	if site.GetDeletionTimestamp() != nil {
		var namespace corev1.Namespace
		return ctrl.Result{}, f.Get(ctx, req.NamespacedName, &namespace)
	}
	var deployment appsv1.Deployment
	return ctrl.Result{}, f.Get(ctx, req.NamespacedName, &deployment) // want `reads Deployment`
}

func (f *finalizing) cleanUp(ctx context.Context, req ctrl.Request) error {
	var service corev1.Service
	if err := f.Get(ctx, req.NamespacedName, &service); err != nil {
		return err
	}
	return f.list(ctx)
}

func (f *finalizing) list(ctx context.Context) error { return f.List(ctx, &corev1.PodList{}) }

func (f *finalizing) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&v1.Site{}).Complete(f)
}
