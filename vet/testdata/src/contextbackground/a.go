package contextbackground

import (
	"context"
	"time"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func direct(ctx context.Context, c client.Client, key client.ObjectKey) error {
	return c.Get(context.Background(), key, &corev1.Pod{}) // want `contextbackground: Get uses context.Background instead of ctx`
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
