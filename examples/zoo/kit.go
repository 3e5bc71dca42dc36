package main

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// kit has the helpers that all operators of the zoo share.
type kit struct {
	client.Client
	fixed bool
}

// reconcileApp is a function that reconciles one App.
type reconcileApp func(ctx context.Context, k kit, a *App) error

// apps returns the setup function of an operator for Apps and owned kinds. The operator calls do for each existing App.
func apps(do reconcileApp, owned ...object.Object) func(m controller.Manager, fixed bool) error {
	return appsAfter(func(ctx context.Context, k kit, a *App) (reconcile.Result, error) {
		return reconcile.Result{}, do(ctx, k, a)
	}, owned...)
}

// livingApps is like apps, but skips Apps that are being deleted.
func livingApps(do reconcileApp, owned ...object.Object) func(m controller.Manager, fixed bool) error {
	return apps(func(ctx context.Context, k kit, a *App) error {
		if !a.DeletionTimestamp.IsZero() {
			return nil
		}
		return do(ctx, k, a)
	}, owned...)
}

// appsAfter is like apps, for operators that also requeue after a delay.
func appsAfter(
	do func(ctx context.Context, k kit, a *App) (reconcile.Result, error), owned ...object.Object,
) func(m controller.Manager, fixed bool) error {
	return func(m controller.Manager, fixed bool) error {
		b := controller.For[*App](m)
		for _, prototype := range owned {
			b = b.Owns(prototype)
		}
		k := kit{m.Client(), fixed}
		return b.Complete(reconcile.Func[reconcile.Request](
			func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
				a := &App{}
				if err := k.Get(ctx, req.NamespacedName, a); err != nil {
					return reconcile.Result{}, client.IgnoreNotFound(err)
				}
				return do(ctx, k, a)
			}))
	}
}

// ensureConfig creates or updates the ConfigMap of an App.
func (k kit) ensureConfig(ctx context.Context, a *App, name string, data map[string]string) error {
	to := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: name}}
	_, err := controllerutil.CreateOrUpdate(ctx, k.Client, to, func() error {
		to.Data = maps.Clone(data)
		return controllerutil.SetControllerReference(a, to, k.Scheme())
	})
	return err
}

// ensureDeployment creates or updates the Deployment of an App. change may change it further.
func (k kit) ensureDeployment(
	ctx context.Context, a *App, change func(d *appsv1.Deployment),
) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, k.Client, d, func() error {
		replicas := int32(a.Spec.Replicas)
		labels := map[string]string{"app": a.Name}
		d.Spec.Replicas = &replicas
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		d.Spec.Template.Labels = labels
		if len(d.Spec.Template.Spec.Containers) == 0 {
			d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app"}}
		}
		d.Spec.Template.Spec.Containers[0].Image = a.Spec.Image
		if change != nil {
			change(d)
		}
		return controllerutil.SetControllerReference(a, d, k.Scheme())
	})
	return d, err
}

// writeStatus writes the status of an App if change modifies it.
func (k kit) writeStatus(ctx context.Context, a *App, change func(s *AppStatus)) error {
	to := a.DeepCopy()
	change(&to.Status)
	if equality.Semantic.DeepEqual(a.Status, to.Status) {
		return nil
	}
	if err := k.Status().Update(ctx, to); err != nil {
		return err
	}
	*a = *to
	return nil
}

// releaseApp removes the finalizer of a deleted App.
func (k kit) releaseApp(ctx context.Context, a *App) error {
	if !controllerutil.RemoveFinalizer(a, cleanup) {
		return nil
	}
	return client.IgnoreNotFound(k.Update(ctx, a))
}

// isCurrent reports whether the API server still has this App, which is being deleted.
func (k kit) isCurrent(ctx context.Context, a *App) (bool, error) {
	latest := &App{}
	err := k.Get(ctx, object.KeyOf(a), latest, client.Live)
	return err == nil && latest.UID == a.UID, client.IgnoreNotFound(err)
}

// cleanup is the finalizer of the operators of the zoo.
const cleanup = "zoo.example.com/cleanup"
