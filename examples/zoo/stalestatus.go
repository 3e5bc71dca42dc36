package main

import (
	"context"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// staleStatus writes the settings of an App into a ConfigMap. With the bug, it reads the App again before it writes the
// status, and reports the generation of that object, although it has worked with an older generation. It never applies
// a change between the two reads.
func staleStatus(ctx context.Context, k kit, a *App) error {
	if a.Status.ObservedGeneration == a.Generation {
		return nil
	}
	if err := k.ensureConfig(ctx, a, a.Name, a.Spec.Settings); err != nil {
		return err
	}
	worked := a.Generation
	if !k.fixed {
		latest := &App{}
		if err := k.Get(ctx, object.KeyOf(a), latest, client.Live); err != nil {
			return client.IgnoreNotFound(err)
		}
		a, worked = latest, latest.Generation
	}
	return k.writeStatus(ctx, a, func(s *AppStatus) { s.ObservedGeneration = worked })
}
