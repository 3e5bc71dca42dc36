package hidingpredicate

import (
	"context"

	v1 "example.com/api/v1"
	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	kpredicate "github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
)

type own struct{ kclient.Client }

func (o *own) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	site := &v1.Site{}
	if err := o.Get(ctx, req.NamespacedName, site); err != nil {
		return reconcile.Result{}, err
	}
	if site.GetLabels()["tier"] == "" {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{}, nil
}

func (o *own) setup(m controller.Manager) error {
	return controller.For[*v1.Site](m).
		WithPredicates(kpredicate.SpecChanged()). // want `hides changes of Labels of Site`
		Complete(o)
}

func (o *own) configMaps(m controller.Manager) error {
	return controller.For[*corev1.Pod](m).
		Owns(&corev1.ConfigMap{}, kpredicate.SpecChanged()).
		Complete(o)
}
