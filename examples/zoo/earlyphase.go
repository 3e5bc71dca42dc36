package main

import "context"

// earlyPhase writes the settings of an App into a ConfigMap. With the bug, it sets the phase before the work is done.
// After a crash between the two writes, the phase reports work that was not done.
func earlyPhase(ctx context.Context, k kit, a *App) error {
	note := func(s *AppStatus) { s.Phase, s.ObservedGeneration = "Configured", a.Generation }
	if k.fixed {
		if err := k.ensureConfig(ctx, a, a.Name, a.Spec.Settings); err != nil {
			return err
		}
		return k.writeStatus(ctx, a, note)
	}
	if a.Status.Phase == "Configured" && a.Status.ObservedGeneration == a.Generation {
		return nil
	}
	if err := k.writeStatus(ctx, a, note); err != nil {
		return err
	}
	return k.ensureConfig(ctx, a, a.Name, a.Spec.Settings)
}
