package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// missingKind writes the settings of an App into a ConfigMap, and watches the certificates of another operator. With
// the bug, it does not start on a cluster without that operator.
type missingKind struct{ kit }

func setupMissingKind(m controller.Manager, fixed bool) error {
	certificate := &unstructured.Unstructured{}
	certificate.SetAPIVersion("certificates.example.com/v1")
	certificate.SetKind("Certificate")
	b := controller.For[*App](m).Owns(&corev1.ConfigMap{})
	if fixed {
		b = b.OwnsOptional(certificate)
	} else {
		b = b.Owns(certificate)
	}
	return b.Complete(&missingKind{kit{m.Client(), fixed}})
}

func (r *missingKind) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	a := &App{}
	if err := r.Get(ctx, req.NamespacedName, a); err != nil || !a.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, r.ensureConfig(ctx, a, a.Name, a.Spec.Settings)
}
