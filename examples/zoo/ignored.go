package main

import (
	"context"
	"strconv"
)

// ignored writes the spec of an App into a ConfigMap. With the bug, it ignores a field.
func ignored(ctx context.Context, k kit, a *App) error {
	data := map[string]string{"image": a.Spec.Image}
	if k.fixed {
		data["replicas"] = strconv.Itoa(a.Spec.Replicas)
	}
	return k.ensureConfig(ctx, a, a.Name, data)
}
