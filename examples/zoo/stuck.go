package main

import (
	"context"
	"slices"
)

// stuck writes the rollout of an App into a ConfigMap. With the bug, an invalid rollout is a permanent failure: the App
// stays failed even after the user has corrected the spec.
func stuck(ctx context.Context, k kit, a *App) error {
	if a.Status.Phase == "Failed" && !k.fixed {
		return nil
	}
	if !slices.Contains([]string{"", "fast", "slow"}, a.Spec.Rollout) {
		return k.writeStatus(ctx, a, func(s *AppStatus) { s.Phase = "Failed" })
	}
	if err := k.ensureConfig(ctx, a, a.Name, map[string]string{"rollout": a.Spec.Rollout}); err != nil {
		return err
	}
	return k.writeStatus(ctx, a, func(s *AppStatus) { s.Phase = "Configured" })
}
