package main

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// silent writes the settings of an App into a ConfigMap. If that fails, the fixed operator sets a condition. With the
// bug, the status of the App does not show the failure.
func silent(ctx context.Context, k kit, a *App) error {
	failed := k.ensureConfig(ctx, a, a.Name, a.Spec.Settings)
	if failed != nil && !k.fixed {
		return failed
	}
	ready := metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Configured", ObservedGeneration: a.Generation,
	}
	if failed != nil {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "WriteFailed", "cannot write the settings"
	}
	return errors.Join(failed, k.writeStatus(ctx, a, func(s *AppStatus) { meta.SetStatusCondition(&s.Conditions, ready) }))
}
