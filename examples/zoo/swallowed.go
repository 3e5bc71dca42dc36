package main

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/log"
)

// swallowed writes the settings of an App into a ConfigMap. With the bug, it logs an error instead of returning it, so
// the reconcile is not retried.
func swallowed(ctx context.Context, k kit, a *App) error {
	err := k.ensureConfig(ctx, a, a.Name, a.Spec.Settings)
	if err != nil && !k.fixed {
		log.FromContext(ctx).Error("cannot write the settings", "err", err)
		return nil
	}
	return err
}
