package main

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// orphan writes the settings of an App into a ConfigMap. With the bug, an update replaces the object without its owner
// reference. The ConfigMap then outlives the App.
func orphan(ctx context.Context, k kit, a *App) error {
	if k.fixed {
		return k.ensureConfig(ctx, a, a.Name, a.Spec.Settings)
	}
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Name}, Data: a.Spec.Settings,
	}
	is := &corev1.ConfigMap{}
	err := k.Get(ctx, object.KeyOf(want), is)
	switch {
	case apierrors.IsNotFound(err):
		if err := controllerutil.SetControllerReference(a, want, k.Scheme()); err != nil {
			return err
		}
		return k.Create(ctx, want)
	case err != nil || maps.Equal(is.Data, want.Data):
		return err
	}
	want.ResourceVersion = is.ResourceVersion
	return k.Update(ctx, want)
}
