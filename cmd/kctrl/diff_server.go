//go:build linux || darwin

package main

import (
	"context"

	"github.com/kctrl-dev/kctrl/internal/controlplane"
)

// startServer starts an API server that stops when this command exits, and returns its kubeconfig.
func startServer(ctx context.Context, s *streams, inMemory bool) (kubeconfig string, stop func(), err error) {
	o := controlplane.Options{InMemory: inMemory, Attached: true}
	assets, err := controlplane.Build(ctx, o, progress(s))
	if err != nil {
		return "", nil, err
	}
	folder, remove, err := controlplane.TemporaryDir(ctx, s.notice)
	if err != nil {
		return "", nil, err
	}
	o.Dir = folder
	instance, err := controlplane.Start(ctx, assets, o)
	if err != nil {
		remove()
		return "", nil, err
	}
	return instance.Kubeconfig, func() {
		instance.Stop()
		remove()
	}, nil
}
