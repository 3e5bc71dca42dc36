// Controllers.

package before

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A controller of a kind and its owned objects
func For(m ctrl.Manager, r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}).Owns(&appsv1.ReplicaSet{}).Complete(r)
}

// Its name and options
func Options(b *ctrl.Builder) *ctrl.Builder {
	return b.Named("deployments").WithOptions(controller.Options{
		MaxConcurrentReconciles: 4, CacheSyncTimeout: time.Minute, ReconciliationTimeout: time.Minute,
	})
}

// In every process, warmed up, and with panics that crash
func Leaderless(b *ctrl.Builder) *ctrl.Builder {
	no, yes := false, true
	return b.WithOptions(controller.Options{NeedLeaderElection: &no, EnableWarmup: &yes, RecoverPanic: &no})
}

// A custom rate limiter
func RateLimiter(b *ctrl.Builder, limiter workqueue.TypedRateLimiter[reconcile.Request]) *ctrl.Builder {
	return b.WithOptions(controller.Options{RateLimiter: limiter})
}

// Other delays
func Backoff(b *ctrl.Builder) *ctrl.Builder {
	return b.WithOptions(controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
	})
}

// Predicates of the kind
func ForPredicates(m ctrl.Manager, p predicate.Predicate) *ctrl.Builder {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}, builder.WithPredicates(p))
}

// Predicates of owned objects
func OwnsPredicates(b *ctrl.Builder, p predicate.Predicate) *ctrl.Builder {
	return b.Owns(&appsv1.ReplicaSet{}, builder.WithPredicates(p))
}

// Predicates of all kinds
func EventFilter(b *ctrl.Builder, p predicate.Predicate) *ctrl.Builder {
	return b.WithEventFilter(p)
}

// A map function
func MapFunc() handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetLabels()["for"]}}}
	}
}

// A watch with a map function
func Watches(b *ctrl.Builder, requests handler.MapFunc) *ctrl.Builder {
	return b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(requests))
}

// A watch for owners that are not controllers
func EveryOwner(b *ctrl.Builder) *ctrl.Builder {
	return b.Owns(&corev1.Secret{}, builder.MatchEveryOwner)
}

// A watch of the metadata
func WatchesMetadata(b *ctrl.Builder, requests handler.MapFunc) *ctrl.Builder {
	return b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(requests))
}

// A watch that owns only metadata
func OwnsMetadata(b *ctrl.Builder) *ctrl.Builder {
	return b.Owns(&corev1.Secret{}, builder.OnlyMetadata)
}

// A source of events from a channel
func Channel(b *ctrl.Builder, events chan event.GenericEvent) *ctrl.Builder {
	return b.WatchesRawSource(source.Channel(events, &handler.EnqueueRequestForObject{}))
}

// A controller without a builder
func New(m ctrl.Manager, r reconcile.Reconciler) (controller.Controller, error) {
	return controller.New("pods", m, controller.Options{Reconciler: r})
}

// A later watch
func WatchLater(c controller.Controller, m ctrl.Manager) error {
	return c.Watch(source.Kind(m.GetCache(), &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}))
}

// A handler without a controller
func Informer(ctx context.Context, m ctrl.Manager, h toolscache.ResourceEventHandler) error {
	i, err := m.GetCache().GetInformer(ctx, &corev1.Secret{})
	if err != nil {
		return err
	}
	_, err = i.AddEventHandler(h)
	return err
}

// An informer that is no longer needed
func RemoveInformer(ctx context.Context, m ctrl.Manager) error {
	return m.GetCache().RemoveInformer(ctx, &corev1.Secret{})
}

// A custom handler
func Handler() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent,
		queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}}
}

// Requests of another type
func TypedRequests(m ctrl.Manager, r reconcile.TypedReconciler[string],
	h handler.TypedEventHandler[client.Object, string]) error {
	return builder.TypedControllerManagedBy[string](m).Named("strings").Watches(&corev1.Secret{}, h).Complete(r)
}

// The spec has changed
func GenerationChanged() predicate.Predicate {
	return predicate.GenerationChangedPredicate{}
}

// Labels or annotations have changed
func MetadataChanged() predicate.Predicate {
	return predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// The version has changed
func ResourceVersionChanged() predicate.Predicate {
	return predicate.ResourceVersionChangedPredicate{}
}

// A condition on the object
func OfTheObject() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() != "kube-system" })
}

// A condition on the event
func OfTheEvent() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	}}
}

// Only new objects
func OnlyCreated() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
