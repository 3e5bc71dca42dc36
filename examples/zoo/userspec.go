package main

import "context"

// userSpec writes the settings of an App into a ConfigMap. With the bug, it writes the default of a field into the
// user's spec, which conflicts with the tool that applies the user's files.
func userSpec(ctx context.Context, k kit, a *App) error {
	rollout := a.Spec.Rollout
	if rollout == "" {
		rollout = "slow"
		if !k.fixed {
			a.Spec.Rollout = rollout
			return k.Update(ctx, a)
		}
	}
	return k.ensureConfig(ctx, a, a.Name, map[string]string{"image": a.Spec.Image, "rollout": rollout})
}
