package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/controller"
)

// setupMemory starts an operator that writes the image of an App into a ConfigMap. With the bug, it remembers each
// generation before the work, so it does not retry failed work.
func setupMemory(m controller.Manager, fixed bool) error {
	var mu sync.Mutex
	done := map[string]int64{} // generation by App; mu guards it
	return livingApps(func(ctx context.Context, k kit, a *App) error {
		mu.Lock()
		known := done[a.Name] == a.Generation
		done[a.Name] = a.Generation
		mu.Unlock()
		if known && !k.fixed {
			return nil
		}
		return k.ensureConfig(ctx, a, a.Name, map[string]string{"image": a.Spec.Image})
	}, &corev1.ConfigMap{})(m, fixed)
}
