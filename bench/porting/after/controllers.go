package after

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

type builder = controller.Builder[*appsv1.Deployment, reconcile.Request]

func For(m controller.Manager, r reconcile.Reconciler[reconcile.Request]) error {
	return controller.For[*appsv1.Deployment](m).Owns(&appsv1.ReplicaSet{}).Complete(r)
}

func Options(b *builder) *builder {
	return b.Named("deployments").WithOptions(controller.Options{
		MaxConcurrentReconciles: 4, CacheSyncTimeout: time.Minute, ReconcileTimeout: time.Minute,
	})
}

func Leaderless(b *builder) *builder {
	return b.WithOptions(controller.Options{Election: controller.Election{Off: true}, WarmUp: true, PanicsCrash: true})
}

func RateLimiter(b *builder, limiter controller.RateLimiter[reconcile.Request]) *builder {
	return b.WithRateLimiter(limiter)
}

func Backoff(b *builder) *builder {
	return b.WithOptions(controller.Options{BaseDelay: time.Second, MaxDelay: time.Minute})
}

func ForPredicates(m controller.Manager, p predicate.Predicate) *builder {
	return controller.For[*appsv1.Deployment](m).WithPredicates(p)
}

func OwnsPredicates(b *builder, p predicate.Predicate) *builder {
	return b.Owns(&appsv1.ReplicaSet{}, p)
}

func EventFilter(b *builder, p predicate.Predicate) *builder {
	return b.WithEventFilter(p)
}

func MapFunc() handler.MapFunc {
	return func(ctx context.Context, o object.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.GetLabels()["for"]}}}
	}
}

func Watches(b *builder, requests handler.MapFunc) *builder {
	return b.Watches(&corev1.Secret{}, handler.Map(requests))
}

func EveryOwner(b *builder, m controller.Manager) *builder {
	owner := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	return b.Watches(&corev1.Secret{}, handler.ForOwner[object.Object](owner, m.RESTMapper(), false))
}

func WatchesMetadata(b *builder, requests handler.MapFunc) *builder {
	return b.WatchesMetadata(&corev1.Secret{}, handler.Map(requests))
}

func OwnsMetadata(b *builder) *builder {
	return b.Owns(&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}})
}

func Channel(b *builder, events chan informer.Event[object.Object]) *builder {
	return b.WatchesSource(source.Channel(events, handler.ForObject[object.Object]()))
}

func New(m controller.Manager, r reconcile.Reconciler[reconcile.Request]) (
	*controller.Controller[reconcile.Request], error) {
	return controller.ForRequests[reconcile.Request](m, "pods").Build(r)
}

func WatchLater(c *controller.Controller[reconcile.Request], m controller.Manager) error {
	return c.Watch(source.Kind(m.Cache(), &corev1.Pod{}, handler.ForObject[*corev1.Pod]()))
}

func Informer(_ context.Context, m controller.Manager, h toolscache.ResourceEventHandler) error {
	i, err := m.Cache().Informer(&corev1.Secret{})
	if err != nil {
		return err
	}
	_, err = i.AddEventHandler(h)
	return err
}

func RemoveInformer(m controller.Manager) error {
	return m.Cache().RemoveInformer(&corev1.Secret{})
}

func Handler() handler.Handler[object.Object, reconcile.Request] {
	return func(ctx context.Context, e informer.Event[object.Object], queue handler.Queue[reconcile.Request]) {
		if e.Type == informer.Deleted {
			queue.Add(reconcile.Request{NamespacedName: object.KeyOf(e.Object)})
		}
	}
}

func TypedRequests(m controller.Manager, r reconcile.Reconciler[string],
	h handler.Handler[object.Object, string]) error {
	return controller.ForRequests[string](m, "strings").Watches(&corev1.Secret{}, h).Complete(r)
}

func GenerationChanged() predicate.Predicate {
	return predicate.SpecChanged()
}

func MetadataChanged() predicate.Predicate {
	return predicate.Or(predicate.LabelsChanged(), predicate.AnnotationsChanged())
}

func ResourceVersionChanged() predicate.Predicate {
	return predicate.ResourceVersionChanged()
}

func OfTheObject() predicate.Predicate {
	return predicate.Object(func(o object.Object) bool { return o.GetNamespace() != "kube-system" })
}

func OfTheEvent() predicate.Predicate {
	return func(e informer.Event[object.Object]) bool {
		return e.Type != informer.Updated || e.Old.GetGeneration() != e.Object.GetGeneration()
	}
}

func OnlyCreated() predicate.Predicate {
	return func(e informer.Event[object.Object]) bool { return e.Type == informer.Added }
}
