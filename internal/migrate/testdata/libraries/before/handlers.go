package operator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"example.com/library"
)

// suite sets up what the manager of a suite is to run.
func suite(s *library.Suite, e library.Environment, r *Reconciler) error {
	if err := watch(e.Manager, r); err != nil {
		return err
	}
	return watch(s, r)
}

// setup is called by a library.
type setup struct{ r *Reconciler }

var _ library.Installer = setup{}

func (s setup) SetUp(m ctrl.Manager) error {
	if m.GetScheme() == nil {
		return nil
	}
	if err := watch(m, s.r); err != nil {
		return err
	}
	if err := m.Add(manager.RunnableFunc(func(context.Context) error { return nil })); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(m).For(&corev1.Namespace{}).Complete(s.r)
}

func watch(mgr ctrl.Manager, r *Reconciler) error {
	var last handler.EventHandler = library.Enqueue("last")
	return ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}).
		Watches(&corev1.Secret{}, &library.Instrumented[client.Object]{}).
		Watches(&corev1.Service{}, library.Enqueue("services")).
		Watches(&corev1.Pod{}, last).
		Watches(&corev1.Node{}, library.Quiet()).
		WithEventFilter(library.Unpaused()).
		WatchesRawSource(library.Ticks()).
		WithOptions(controller.Options{RateLimiter: library.Limiter(), MaxConcurrentReconciles: 2}).
		Complete(r)
}
