package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// missingWatch copies a setting from the ConfigMap to which an App refers. With the bug, it does not watch ConfigMaps.
// If the ConfigMap is created after the App, the App has no setting until the operator restarts.
type missingWatch struct{ kit }

func setupMissingWatch(m controller.Manager, fixed bool) error {
	r := &missingWatch{kit{m.Client(), fixed}}
	b := controller.For[*App](m)
	if fixed {
		b = b.Watches(handler.For(r.usersOf))
	}
	return b.Complete(r)
}

func (r *missingWatch) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &App{}
	if err := r.Get(ctx, req.NamespacedName, a); err != nil || !a.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	from := &corev1.ConfigMap{}
	err := r.Get(ctx, object.Key{Namespace: a.Namespace, Name: a.Spec.Target}, from)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.writeStatus(ctx, a, func(s *AppStatus) { s.Phase = from.Data["phase"] })
}

// usersOf returns requests for the Apps that refer to a ConfigMap.
func (r *missingWatch) usersOf(ctx context.Context, of *corev1.ConfigMap) []reconcile.Request {
	all := &AppList{}
	if err := r.List(ctx, all, client.InNamespace(of.Namespace)); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if all.Items[i].Spec.Target == of.Name {
			requests = append(requests, reconcile.Request{NamespacedName: object.KeyOf(&all.Items[i])})
		}
	}
	return requests
}
