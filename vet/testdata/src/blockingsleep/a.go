package blockingsleep

import (
	"context"
	"time"

	"blockingsleep/slow"

	kreconcile "github.com/kctrl-dev/kctrl/runtime/reconcile"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

type reconciler struct{}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	time.Sleep(time.Second) // want `blockingsleep: time.Sleep blocks \(\*reconciler\).Reconcile`
	if err := r.wait(ctx); err != nil {
		return ctrl.Result{}, err
	}
	slow.Settle() // want `Settle blocks \(\*reconciler\).Reconcile by time.Sleep at slow.go:11`
	go background()
	return ctrl.Result{}, nil
}

func (r *reconciler) wait(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 1, 2, true, nil) // want `wait.PollUntilContextTimeout blocks \(\*reconciler\).wait, which \(\*reconciler\).Reconcile calls`
}

func background() { time.Sleep(time.Hour) }

func notCalled() { time.Sleep(time.Hour) }

func own(ctx context.Context, req kreconcile.Request) (kreconcile.Result, error) {
	func() {
		time.Sleep(time.Second) // want `blocks a function literal in own`
	}()
	return kreconcile.Result{}, nil
}

type worker struct {
	queue workqueue.TypedRateLimitingInterface[string]
}

func (w *worker) process() bool {
	key, _ := w.queue.Get()
	defer w.queue.Done(key)
	w.sync(key)
	return true
}

func (w *worker) sync(key string) {
	time.Sleep(time.Second) // want `blocks \(\*worker\).sync, which \(\*worker\).process calls`
}
