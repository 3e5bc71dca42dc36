package latefinalizer

import (
	"context"

	v1 "example.com/api/v1"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	kutil "github.com/kctrl-dev/kctrl/runtime/controllerutil"
	kreconcile "github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

type storage interface {
	CreateBucket(ctx context.Context, name string) error
}

type reconciler struct {
	client.Client
	storage storage
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &v1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, err
	}
	if !controllerutil.ContainsFinalizer(site, "example.com/x") {
		controllerutil.AddFinalizer(site, "example.com/x")
		return ctrl.Result{}, nil // want `latefinalizer: the finalizer of line 31 is not stored before this return`
	}
	return ctrl.Result{}, nil
}

func ownReturn(ctx context.Context, c kclient.Client, req kreconcile.Request) (kreconcile.Result, error) {
	site := &v1.Site{}
	if err := c.Get(ctx, req.NamespacedName, site); err != nil {
		return kreconcile.Result{}, err
	}
	if kutil.AddFinalizer(site, "example.com/x") {
		if site.Spec.Size == 0 {
			return kreconcile.Result{}, nil // want `the finalizer of line 42 is not stored`
		}
		if err := c.Update(ctx, site); err != nil {
			return kreconcile.Result{}, err
		}
	}
	return kreconcile.Result{}, nil
}

func (r *reconciler) createsFirst(ctx context.Context, site *v1.Site) error {
	secret := &corev1.Secret{}
	secret.Name = site.Name
	if err := r.Create(ctx, secret); err != nil { // want `Create comes before the finalizer of line 59`
		return err
	}
	controllerutil.AddFinalizer(site, "example.com/x")
	return r.Update(ctx, site)
}

func (r *reconciler) bucketFirst(ctx context.Context, site *v1.Site) error {
	if err := r.storage.CreateBucket(ctx, site.Name); err != nil { // want `CreateBucket comes before the finalizer`
		return err
	}
	controllerutil.AddFinalizer(site, "example.com/x")
	return r.Update(ctx, site)
}

func (r *reconciler) stored(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &v1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, err
	}
	if controllerutil.AddFinalizer(site, "example.com/x") {
		return ctrl.Result{}, r.Update(ctx, site)
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) storedLater(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	site := &v1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, err
	}
	defer func() { err = r.Update(ctx, site) }()
	controllerutil.AddFinalizer(site, "example.com/x")
	return ctrl.Result{}, nil
}

func (r *reconciler) ownedFirst(ctx context.Context, site *v1.Site) error {
	secret := &corev1.Secret{}
	if err := ctrl.SetControllerReference(site, secret, r.Scheme()); err != nil {
		return err
	}
	if err := r.Create(ctx, secret); err != nil {
		return err
	}
	controllerutil.AddFinalizer(site, "example.com/x")
	return r.Update(ctx, site)
}

// captured uses an object in a function literal.
func (r *reconciler) captured(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := new(v1.Site)
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, err
	}
	controllerutil.AddFinalizer(site, "example.com/x")
	if err := r.Update(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	later := func() string { return site.Name }
	site = nil
	_ = later
	return ctrl.Result{}, nil
}
