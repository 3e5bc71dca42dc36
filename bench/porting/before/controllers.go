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

// Build a controller for a kind and the objects that it owns
func For(m ctrl.Manager, r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}).Owns(&appsv1.ReplicaSet{}).Complete(r)
}

// Set the name and options of a controller
func Options(b *ctrl.Builder) *ctrl.Builder {
	return b.Named("deployments").WithOptions(controller.Options{
		MaxConcurrentReconciles: 4, CacheSyncTimeout: time.Minute, ReconciliationTimeout: time.Minute,
	})
}

// Run a controller in every process, start its sources before the election, and let panics end the process
func Leaderless(b *ctrl.Builder) *ctrl.Builder {
	no, yes := false, true
	return b.WithOptions(controller.Options{NeedLeaderElection: &no, EnableWarmup: &yes, RecoverPanic: &no})
}

// Set a custom rate limiter
func RateLimiter(b *ctrl.Builder, limiter workqueue.TypedRateLimiter[reconcile.Request]) *ctrl.Builder {
	return b.WithOptions(controller.Options{RateLimiter: limiter})
}

// Set the shortest and the longest backoff
func Backoff(b *ctrl.Builder) *ctrl.Builder {
	return b.WithOptions(controller.Options{
		RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute),
	})
}

// Filter events of the kind
func ForPredicates(m ctrl.Manager, p predicate.Predicate) *ctrl.Builder {
	return ctrl.NewControllerManagedBy(m).For(&appsv1.Deployment{}, builder.WithPredicates(p))
}

// Filter events of owned objects
func OwnsPredicates(b *ctrl.Builder, p predicate.Predicate) *ctrl.Builder {
	return b.Owns(&appsv1.ReplicaSet{}, builder.WithPredicates(p))
}

// Filter events of all kinds
func EventFilter(b *ctrl.Builder, p predicate.Predicate) *ctrl.Builder {
	return b.WithEventFilter(p)
}

// Map an event to requests
func MapFunc() handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetLabels()["for"]}}}
	}
}

// Watch a kind with a map function
func Watches(b *ctrl.Builder, requests handler.MapFunc) *ctrl.Builder {
	return b.Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(requests))
}

// Watch objects for owners that are not their controllers
func EveryOwner(b *ctrl.Builder) *ctrl.Builder {
	return b.Owns(&corev1.Secret{}, builder.MatchEveryOwner)
}

// Watch only the metadata of a kind
func WatchesMetadata(b *ctrl.Builder, requests handler.MapFunc) *ctrl.Builder {
	return b.WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(requests))
}

// Watch only the metadata of owned objects
func OwnsMetadata(b *ctrl.Builder) *ctrl.Builder {
	return b.Owns(&corev1.Secret{}, builder.OnlyMetadata)
}

// Receive events from a channel
func Channel(b *ctrl.Builder, events chan event.GenericEvent) *ctrl.Builder {
	return b.WatchesRawSource(source.Channel(events, &handler.EnqueueRequestForObject{}))
}

// Build a controller without a builder
func New(m ctrl.Manager, r reconcile.Reconciler) (controller.Controller, error) {
	return controller.New("pods", m, controller.Options{Reconciler: r})
}

// Add a watch to an existing controller
func WatchLater(c controller.Controller, m ctrl.Manager) error {
	return c.Watch(source.Kind(m.GetCache(), &corev1.Pod{}, &handler.TypedEnqueueRequestForObject[*corev1.Pod]{}))
}

// Get the informer of a kind without a controller
func Informer(ctx context.Context, m ctrl.Manager, h toolscache.ResourceEventHandler) error {
	i, err := m.GetCache().GetInformer(ctx, &corev1.Secret{})
	if err != nil {
		return err
	}
	_, err = i.AddEventHandler(h)
	return err
}

// Remove an informer
func RemoveInformer(ctx context.Context, m ctrl.Manager) error {
	return m.GetCache().RemoveInformer(ctx, &corev1.Secret{})
}

// Write a custom event handler
func Handler() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(ctx context.Context, e event.DeleteEvent,
		queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(e.Object)})
	}}
}

// Use requests of another type
func TypedRequests(m ctrl.Manager, r reconcile.TypedReconciler[string],
	h handler.TypedEventHandler[client.Object, string]) error {
	return builder.TypedControllerManagedBy[string](m).Named("strings").Watches(&corev1.Secret{}, h).Complete(r)
}

// Pass events that change the spec
func GenerationChanged() predicate.Predicate {
	return predicate.GenerationChangedPredicate{}
}

// Pass events that change labels or annotations
func MetadataChanged() predicate.Predicate {
	return predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// Pass events that change the resource version
func ResourceVersionChanged() predicate.Predicate {
	return predicate.ResourceVersionChangedPredicate{}
}

// Filter events by a condition on the object
func OfTheObject() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetNamespace() != "kube-system" })
}

// Filter events by a condition on the event
func OfTheEvent() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	}}
}

// Pass only events of new objects
func OnlyCreated() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
