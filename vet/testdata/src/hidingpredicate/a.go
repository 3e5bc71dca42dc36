package hidingpredicate

import (
	"context"

	v1 "example.com/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

type reconciler struct{ client.Client }

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var site v1.Site
	if err := r.Get(ctx, req.NamespacedName, &site); err != nil {
		return ctrl.Result{}, err
	}
	if site.Annotations["paused"] == "true" {
		return ctrl.Result{}, nil
	}
	var deployment appsv1.Deployment
	if err := r.Get(ctx, req.NamespacedName, &deployment); err != nil {
		return ctrl.Result{}, err
	}
	if deployment.Status.ReadyReplicas == 0 {
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) annotations(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		For(&v1.Site{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})). // want `hidingpredicate: the predicate hides changes of Annotations of Site`
		Complete(r)
}

func (r *reconciler) status(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		For(&v1.Site{}).
		Owns(&appsv1.Deployment{}, builder.WithPredicates(predicate.And(predicate.GenerationChangedPredicate{}, nil))). // want `hides changes of Status of Deployment`
		Complete(r)
}

func (r *reconciler) configMaps(m ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(m).
		For(&corev1.Pod{}).
		Owns(&corev1.ConfigMap{}).
		WithEventFilter(predicate.GenerationChangedPredicate{}). // want `the predicate drops all changes of ConfigMaps`
		Complete(r)
}

func (r *reconciler) combined(m ctrl.Manager) error {
	both := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(m).
		For(&v1.Site{}, builder.WithPredicates(both)).
		Owns(&appsv1.Deployment{}).
		Complete(r)
}
