package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
)

// generated creates a ConfigMap for each App. With the bug, the ConfigMap has a generated name, which only the status
// contains. After a crash between the two writes, the App gets a second ConfigMap.
func generated(ctx context.Context, k kit, a *App) error {
	if k.fixed {
		if err := k.ensureConfig(ctx, a, a.Name+"-settings", a.Spec.Settings); err != nil {
			return err
		}
		return k.writeStatus(ctx, a, func(s *AppStatus) { s.Child = a.Name + "-settings" })
	}
	if a.Status.Child != "" {
		return k.ensureConfig(ctx, a, a.Status.Child, a.Spec.Settings)
	}
	child := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, GenerateName: a.Name + "-"}, Data: a.Spec.Settings,
	}
	if err := controllerutil.SetControllerReference(a, child, k.Scheme()); err != nil {
		return err
	}
	if err := k.Create(ctx, child); err != nil {
		return err
	}
	return k.writeStatus(ctx, a, func(s *AppStatus) { s.Child = child.Name })
}
