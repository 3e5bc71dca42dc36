// Reconcilers.

package before

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Write a reconciler
func Reconcile(ctx context.Context, c client.Client, request ctrl.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	if err := c.Get(ctx, request.NamespacedName, &pod); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

// Requeue with backoff
func Requeue() ctrl.Result {
	return ctrl.Result{Requeue: true}
}

// Return an error that is not retried
func Terminal(err error) error {
	return reconcile.TerminalError(err)
}

// Write a reconciler that gets the object
func AsReconciler(c client.Client, r reconcile.ObjectReconciler[*corev1.Pod]) reconcile.Reconciler {
	return reconcile.AsReconciler(c, r)
}

// Log messages
func Log(ctx context.Context, err error, pod *corev1.Pod) {
	logger := log.FromContext(ctx).WithName("pods").WithValues("pod", pod)
	logger.Info("made", "count", 3)
	logger.V(1).Info("details")
	logger.Error(err, "cannot make it", "count", 3)
}

// Set the owner and a finalizer
func Owner(owner *corev1.Pod, owned *corev1.Secret, scheme *runtime.Scheme) error {
	controllerutil.AddFinalizer(owner, "example.com/cleanup")
	return controllerutil.SetControllerReference(owner, owned, scheme)
}

// Create or update
func CreateOrUpdate(ctx context.Context, c client.Client, s *corev1.Secret,
	change func() error) (controllerutil.OperationResult, error) {
	return controllerutil.CreateOrUpdate(ctx, c, s, change)
}

// Patch with optimistic locking
func OptimisticLock(base *corev1.Pod) client.Patch {
	return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
}

// Apply an object
func Apply(ctx context.Context, c client.Client, s *corev1.Secret) error {
	return c.Patch(ctx, s, client.Apply, client.FieldOwner("me"), client.ForceOwnership)
}

// Apply an apply configuration
func ApplyConfiguration(ctx context.Context, c client.Client, s *applycorev1.SecretApplyConfiguration) error {
	return c.Apply(ctx, s, client.FieldOwner("me"))
}

// Write the status
func Status(ctx context.Context, c client.Client, pod, base *corev1.Pod) error {
	return c.Status().Patch(ctx, pod, client.MergeFrom(base))
}

// Delete with dependents and a UID precondition
func Delete(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	return c.Delete(ctx, pod, client.PropagationPolicy("Background"), client.Preconditions{UID: &pod.UID})
}

// List objects by an index
func List(ctx context.Context, c client.Client, pods *corev1.PodList) error {
	return c.List(ctx, pods, client.InNamespace("one"), client.MatchingFields{"spec.owner": "web"},
		client.HasLabels{"app"})
}

// List objects without copies
func Shared(ctx context.Context, c client.Client, pods *corev1.PodList) error {
	return c.List(ctx, pods, client.UnsafeDisableDeepCopy)
}

// Create a client without a cache
func NewClient(config *rest.Config, scheme *runtime.Scheme) (client.Client, error) {
	return client.New(config, client.Options{Scheme: scheme})
}

// Create a client with interceptors
func Interceptor(c client.WithWatch, calls *int) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, next client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			*calls++
			return next.Create(ctx, o, opts...)
		},
	})
}

// Get the kind of an object
func Kind(pod *corev1.Pod, scheme *runtime.Scheme) error {
	gvk, err := apiutil.GVKForObject(pod, scheme)
	_ = gvk
	return err
}

// Record an event
func Events(m ctrl.Manager, pod *corev1.Pod) {
	recorder := m.GetEventRecorder("pods")
	recorder.Eventf(pod, nil, corev1.EventTypeNormal, "Created", "Create", "made %d", 3)
}

// Record an event with the old events API
func OldEvents(recorder record.EventRecorder, pod *corev1.Pod) {
	recorder.Eventf(pod, corev1.EventTypeNormal, "Created", "made %d", 3)
}

// Check events in tests
func FakeRecorder() string {
	recorder := toolsevents.NewFakeRecorder(10)
	return <-recorder.Events
}
