package main

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
)

// observed runs an App as a Deployment and reports its state. With the bug, it reports the generation of the Deployment
// as the observed generation of the App.
func observed(ctx context.Context, k kit, a *App) error {
	if _, err := k.ensureDeployment(ctx, a, nil); err != nil {
		return err
	}
	d, err := k.ensureDeployment(ctx, a, func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{"image": a.Spec.Image}
	})
	if err != nil {
		return err
	}
	return k.writeStatus(ctx, a, func(s *AppStatus) {
		s.Ready, s.ObservedGeneration = int(d.Status.ReadyReplicas), a.Generation
		if !k.fixed {
			s.ObservedGeneration = d.Generation
		}
	})
}
