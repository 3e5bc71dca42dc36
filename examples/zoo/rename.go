package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
)

// rename writes a password into the Secret whose name an App specifies. With the bug, it does not delete the Secret
// with the previous name.
func rename(ctx context.Context, k kit, a *App) error {
	to := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Spec.Target}}
	_, err := controllerutil.CreateOrUpdate(ctx, k.Client, to, func() error {
		to.Labels = map[string]string{"app": a.Name}
		to.Data = map[string][]byte{"password": []byte("secret")}
		return controllerutil.SetControllerReference(a, to, k.Scheme())
	})
	if err != nil || !k.fixed {
		return err
	}
	secrets := &corev1.SecretList{}
	if err := k.List(ctx, secrets, client.InNamespace(a.Namespace), client.MatchingLabels{"app": a.Name}); err != nil {
		return err
	}
	for i := range secrets.Items {
		old := &secrets.Items[i]
		if old.Name == a.Spec.Target || !metav1.IsControlledBy(old, a) {
			continue
		}
		if err := controllerutil.DeleteWithUID(ctx, k.Client, old); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
