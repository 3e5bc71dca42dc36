package secretcache

import (
	"context"

	"secretcache/sites"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, r.password(ctx, req)
}

func (r *reconciler) password(ctx context.Context, req ctrl.Request) error {
	return r.Get(ctx, req.NamespacedName, &corev1.Secret{})
}

func (r *reconciler) SetupWithManager(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).For(&corev1.Pod{}).Complete(r)
}

func unrestrictedManager() (ctrl.Manager, error) {
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{LeaderElectionID: "x"}) // want `secretcache: the cache of this manager holds all Secrets: \(\*reconciler\).Reconcile at a.go:17 reads them`
	if err != nil {
		return nil, err
	}
	return m, (&reconciler{Client: m.GetClient()}).SetupWithManager(m)
}

func plainManager() (manager.Manager, error) {
	m, err := manager.New(ctrl.GetConfigOrDie(), manager.Options{}) // want `the cache of this manager holds all Secrets: Owns at sites.go:\d+ watches them`
	if err != nil {
		return nil, err
	}
	return m, sites.Setup(m)
}

func oneNamespace() (ctrl.Manager, error) {
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}}},
	})
	if err != nil {
		return nil, err
	}
	return m, sites.Setup(m)
}

func withoutControllers() (ctrl.Manager, error) {
	return ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{})
}

func readLive() (ctrl.Manager, error) {
	m, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return nil, err
	}
	return m, sites.Setup(m)
}
