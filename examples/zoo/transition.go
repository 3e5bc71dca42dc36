package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transition reports that an App is ready. With the bug, it replaces the condition in each reconcile, and sets the time
// of the last transition although the condition's status has not changed.
func transition(ctx context.Context, k kit, a *App) error {
	if err := k.ensureConfig(ctx, a, a.Name, a.Spec.Settings); err != nil {
		return err
	}
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Configured", LastTransitionTime: metav1.Now(),
	}
	return k.writeStatus(ctx, a, func(s *AppStatus) {
		if k.fixed && len(s.Conditions) == 1 && s.Conditions[0].Status == ready.Status {
			return
		}
		s.Conditions = []metav1.Condition{ready}
	})
}
