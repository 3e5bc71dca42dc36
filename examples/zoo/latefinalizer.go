package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
)

// lateFinalizer registers each App in another namespace, which owner references cannot cross. With the bug, it adds the
// finalizer after the registration. If the App is deleted in between, its registration remains.
func lateFinalizer(ctx context.Context, k kit, a *App) error {
	if !a.DeletionTimestamp.IsZero() {
		if current, err := k.isCurrent(ctx, a); !current {
			return err
		}
		if err := k.Delete(ctx, entryOf(a)); client.IgnoreNotFound(err) != nil {
			return err
		}
		return k.releaseApp(ctx, a)
	}
	if k.fixed && controllerutil.AddFinalizer(a, cleanup) {
		return k.Update(ctx, a)
	}
	if _, err := controllerutil.ApplyIfDifferent(ctx, k.Client, entryOf(a), client.FieldOwner("zoo")); err != nil {
		return err
	}
	if controllerutil.AddFinalizer(a, cleanup) {
		return k.Update(ctx, a)
	}
	return nil
}

// entryOf returns the registration of an App.
func entryOf(a *App) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: a.Namespace + "-" + a.Name},
		Data:       map[string]string{"image": a.Spec.Image},
	}
}
