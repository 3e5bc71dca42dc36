package main

import (
	"context"
	"time"
)

// timestamp writes the settings of an App into a ConfigMap. With the bug, it adds the current time, so that each
// restart of the operator changes the ConfigMap and the pods that use it.
func timestamp(ctx context.Context, k kit, a *App) error {
	data := map[string]string{"image": a.Spec.Image}
	if !k.fixed {
		data["generated-at"] = time.Now().Format(time.RFC3339)
	}
	return k.ensureConfig(ctx, a, a.Name, data)
}
