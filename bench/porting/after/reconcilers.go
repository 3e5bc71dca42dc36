package after

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/controllerutil"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

func Reconcile(ctx context.Context, c client.Client, request reconcile.Request) (reconcile.Result, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, request.NamespacedName, &pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{RequeueAfter: time.Minute}, nil
}

func Requeue() reconcile.Result {
	return reconcile.Result{Requeue: true}
}

func Terminal(err error) error {
	return reconcile.TerminalError(err)
}

func AsReconciler(c client.Client, r func(context.Context,
	*corev1.Pod) (reconcile.Result, error)) reconcile.Reconciler[reconcile.Request] {
	return reconcile.Func[reconcile.Request](func(ctx context.Context,
		request reconcile.Request) (reconcile.Result, error) {
		pod := &corev1.Pod{}
		if err := c.Get(ctx, request.NamespacedName, pod); err != nil {
			return reconcile.Result{}, client.IgnoreNotFound(err)
		}
		return r(ctx, pod)
	})
}

func Log(ctx context.Context, err error, pod *corev1.Pod) {
	logger := log.FromContext(ctx).With("logger", "pods", "pod", pod)
	logger.Info("made", "count", 3)
	logger.Debug("details")
	logger.Error("cannot make it", "err", err, "count", 3)
}

func Owner(owner *corev1.Pod, owned *corev1.Secret, scheme *runtime.Scheme) error {
	controllerutil.AddFinalizer(owner, "example.com/cleanup")
	return controllerutil.SetControllerReference(owner, owned, scheme)
}

func CreateOrUpdate(ctx context.Context, c client.Client, s *corev1.Secret,
	change func() error) (controllerutil.OperationResult, error) {
	return controllerutil.CreateOrUpdate(ctx, c, s, change)
}

func OptimisticLock(base *corev1.Pod) client.Patch {
	return client.MergeFromWithOptimisticLock(base)
}

func Apply(ctx context.Context, c client.Client, s *corev1.Secret) error {
	return c.Apply(ctx, s, client.FieldOwner("me"), client.ForceOwnership)
}

func ApplyConfiguration(ctx context.Context, c client.Client, s *applycorev1.SecretApplyConfiguration) error {
	return client.ApplyConfiguration(ctx, c, s, client.FieldOwner("me"))
}

func Status(ctx context.Context, c client.Client, pod, base *corev1.Pod) error {
	return c.Status().Patch(ctx, pod, client.MergeFrom(base))
}

func Delete(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	return c.Delete(ctx, pod, client.PropagationPolicy("Background"), client.Preconditions{UID: &pod.UID})
}

func List(ctx context.Context, c client.Client, pods *corev1.PodList) error {
	return c.List(ctx, pods, client.InNamespace("one"), client.MatchingFields{"spec.owner": "web"},
		client.HasLabels{"app"})
}

func Shared(ctx context.Context, c client.Client, pods *corev1.PodList) error {
	return c.List(ctx, pods, client.UnsafeDisableDeepCopy)
}

func NewClient(config *rest.Config, scheme *runtime.Scheme) (client.Client, error) {
	return client.New(config, client.Options{Scheme: scheme})
}

func Interceptor(c client.Client, calls *int) client.Client {
	return client.Intercept(c, client.Interceptor{
		Create: func(ctx context.Context, next client.Client, o object.Object, opts ...client.CreateOption) error {
			*calls++
			return next.Create(ctx, o, opts...)
		},
	})
}

func Kind(pod *corev1.Pod, scheme *runtime.Scheme) error {
	gvk, err := object.GVK(pod, scheme)
	_ = gvk
	return err
}

func Events(m controller.Manager, pod *corev1.Pod) {
	recorder := m.EventRecorder("pods")
	recorder.Eventf(pod, nil, corev1.EventTypeNormal, "Created", "Create", "made %d", 3)
}

func OldEvents(recorder *events.Recorder, pod *corev1.Pod) {
	recorder.Eventf(pod, nil, corev1.EventTypeNormal, "Created", "Create", "made %d", 3)
}

func FakeRecorder() string {
	recorder := events.NewFakeRecorder(10) // the reconciler gets recorder.Recorder
	return (<-recorder.Events).String()
}
