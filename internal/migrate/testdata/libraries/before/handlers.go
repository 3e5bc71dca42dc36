package operator

import (
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"example.com/library"
)

func watch(mgr ctrl.Manager, r *Reconciler) error {
	var last handler.EventHandler = library.Enqueue("last")
	return ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}).
		Watches(&corev1.Secret{}, &library.Instrumented[client.Object]{}).
		Watches(&corev1.Service{}, library.Enqueue("services")).
		Watches(&corev1.Pod{}, last).
		WatchesRawSource(library.Ticks()).
		WithOptions(controller.Options{RateLimiter: library.Limiter(), MaxConcurrentReconciles: 2}).
		Complete(r)
}
