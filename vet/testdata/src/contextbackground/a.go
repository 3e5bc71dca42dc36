package contextbackground

import (
	"context"
	"time"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func direct(ctx context.Context, c client.Client, pod *corev1.Pod) error {
	return c.Delete(context.Background(), pod) // want `contextbackground: Delete uses context.Background instead of ctx`
}

func derived(ctx context.Context, c kclient.Client, pod *corev1.Pod) error {
	cancelable, cancel := context.WithCancel(context.TODO()) // want `Update uses context.TODO instead of ctx`
	defer cancel()
	return c.Status().Update(cancelable, pod)
}

func bounded(ctx context.Context, c kclient.Client, pod *corev1.Pod) error {
	timeout, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return c.Update(timeout, pod)
}

func deferred(ctx context.Context, c client.Client, pod *corev1.Pod) {
	defer c.Delete(context.Background(), pod)
	go func() { _ = c.Delete(context.Background(), pod) }()
}

func without(c client.Client, pod *corev1.Pod) error { return c.Delete(context.Background(), pod) }

func passes(ctx context.Context, c client.Client, pod *corev1.Pod) error { return c.Delete(ctx, pod) }

type reconciler struct{ client.Client }

// Cached reads ignore the context, and writes do not.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var pod corev1.Pod
	if err := r.Get(context.Background(), req.NamespacedName, &pod); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.Update(context.Background(), &pod) // want `Update uses context.Background instead of ctx`
}

func (r *reconciler) SetupWithManager(m ctrl.Manager) error {
	r.Client = m.GetClient()
	return ctrl.NewControllerManagedBy(m).For(&corev1.Pod{}).Complete(r)
}
