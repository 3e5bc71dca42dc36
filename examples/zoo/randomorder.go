package main

import (
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// randomOrder runs an App as a Deployment, with its settings as environment variables. With the bug, it writes them in
// the random order of a map, so that reconciles roll out new pods although nothing has changed.
func randomOrder(ctx context.Context, k kit, a *App) error {
	keys := maps.Keys(a.Spec.Settings)
	if k.fixed {
		keys = slices.Values(slices.Sorted(keys))
	}
	var env []corev1.EnvVar
	for key := range keys {
		env = append(env, corev1.EnvVar{Name: key, Value: a.Spec.Settings[key]})
	}
	_, err := k.ensureDeployment(ctx, a, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = env })
	return err
}
