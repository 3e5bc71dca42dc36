package requeuebackoff

import (
	"context"
	"log"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

func nanoseconds(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{RequeueAfter: 5}, nil // want `requeuebackoff: the request returns after 5ns, each time`
}

func short(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil // want `returns after 100ms`
}

func constant(ctx context.Context, c client.Client, pod *corev1.Pod) (reconcile.Result, error) {
	if err := c.Update(ctx, pod); err != nil {
		log.Print(err)
		return reconcile.Result{RequeueAfter: 5 * time.Second}, nil // want `the error of Update at line 24 leads to a retry each 5s`
	}
	return reconcile.Result{RequeueAfter: time.Hour}, nil
}

type worker struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

func (w *worker) sync(key string) error { return nil }

func (w *worker) process() bool {
	key, shutdown := w.queue.Get()
	if shutdown {
		return false
	}
	defer w.queue.Done(key)
	if err := w.sync(key); err != nil {
		w.queue.Add(key) // want `Add queues the key at once after an error`
		return true
	}
	w.queue.Forget(key)
	return true
}

type other struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

func (w *other) process() bool {
	key, _ := w.queue.Get()
	defer w.queue.Done(key)
	if err := (&worker{}).sync(key); err != nil {
		w.queue.AddRateLimited(key)
		return true
	}
	w.queue.Add(key)
	return true
}

func long(ctx context.Context, c client.Client, pod *corev1.Pod) (reconcile.Result, error) {
	if err := c.Update(ctx, pod); err != nil {
		return reconcile.Result{RequeueAfter: time.Minute}, nil
	}
	return reconcile.Result{RequeueAfter: 2 * time.Second}, nil
}
