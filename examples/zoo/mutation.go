package main

import (
	"context"
	"maps"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// mutation writes the settings of an App, with a default, into a ConfigMap. For speed, it reads without copies. With
// the bug, it sets the default in the object that it shares with the cache.
func mutation(ctx context.Context, k kit, a *App) error {
	shared := &App{}
	if err := k.Get(ctx, object.KeyOf(a), shared, client.UnsafeDisableDeepCopy); err != nil {
		return client.IgnoreNotFound(err)
	}
	settings := shared.Spec.Settings
	if k.fixed {
		settings = maps.Clone(settings)
	}
	settings["log"] = "info"
	return k.ensureConfig(ctx, a, a.Name, settings)
}
