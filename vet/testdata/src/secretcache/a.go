package secretcache

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

func password(ctx context.Context, c client.Client, key client.ObjectKey) error {
	return c.Get(ctx, key, &corev1.Secret{})
}

func unrestrictedManager() (ctrl.Manager, error) {
	return ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{LeaderElectionID: "x"}) // want `secretcache: the cache of this manager holds all Secrets: Get at a.go:14`
}

func plainManager() (manager.Manager, error) {
	return manager.New(ctrl.GetConfigOrDie(), manager.Options{}) // want `the cache of this manager holds all Secrets`
}

func oneNamespace() (ctrl.Manager, error) {
	return ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}}},
	})
}

func readLive() (ctrl.Manager, error) {
	return ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
}
