package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// staleDelete keeps a token for each App, which must not change while the App exists. With the bug, it deletes the
// token by name. If it starts with a stale cache, in which a previous App with the same name is being deleted, it
// deletes the token of the new App.
func staleDelete(ctx context.Context, k kit, a *App) error {
	if a.DeletionTimestamp.IsZero() {
		if controllerutil.AddFinalizer(a, cleanup) {
			return k.Update(ctx, a)
		}
		return client.IgnoreAlreadyExists(k.Create(ctx, tokenOf(a)))
	}
	token := tokenOf(a)
	if !k.fixed {
		if err := k.Delete(ctx, token); client.IgnoreNotFound(err) != nil {
			return err
		}
		return k.releaseApp(ctx, a)
	}
	err := k.Get(ctx, object.KeyOf(token), token)
	if err == nil && token.Annotations["app"] == string(a.UID) {
		err = controllerutil.DeleteWithUID(ctx, k.Client, token)
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return k.releaseApp(ctx, a)
}

// tokenOf returns the token of an App. It has no owner reference, like other data that a user may want to keep.
func tokenOf(a *App) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: a.Namespace, Name: a.Name + "-token", Annotations: map[string]string{"app": string(a.UID)},
	}}
}
