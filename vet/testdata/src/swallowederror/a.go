package swallowederror

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"time"

	"swallowederror/objects"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"
)

type reconciler struct {
	crclient.Client
	lastError string
}

func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := r.Get(ctx, req.NamespacedName, pod); err != nil {
		slog.Error("get", "err", err)
		return ctrl.Result{}, nil // want `swallowederror: the error of Get at line 27 is lost`
	}
	r.Status().Update(ctx, pod) // want `the error of Update is dropped`
	if err := r.Update(ctx, pod); err != nil {
		return ctrl.Result{}, nil // want `the error of Update at line 32 is lost`
	}
	return ctrl.Result{}, nil
}

// outside is not part of a reconcile, so nothing retries after its error.
func outside(ctx context.Context, c client.Client) {
	c.Delete(ctx, &corev1.Pod{})
}

func own(ctx context.Context, c client.Client, req reconcile.Request) error {
	c.Delete(ctx, &corev1.Pod{}) // want `the error of Delete is dropped`
	return nil
}

func ownStep(ctx context.Context, c client.Client, pod *corev1.Pod) (reconcile.Result, error) {
	if err := own(ctx, c, reconcile.Request{}); err != nil {
		return reconcile.Result{}, err
	}
	err := c.Patch(ctx, pod, nil)
	if err != nil {
		log.Printf("patch: %v", err)
		return reconcile.Result{}, nil // want `the error of Patch at line 52 is lost`
	}
	return reconcile.Result{}, nil
}

func (r *reconciler) inspected(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pod := &corev1.Pod{}
	if err := r.Get(ctx, req.NamespacedName, pod); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get: %w", err)
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) recorded(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if err := r.Update(ctx, pod); err != nil {
		r.lastError = err.Error()
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, nil
}

func (r *reconciler) retried(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if err := r.Update(ctx, pod); err != nil {
		return ctrl.Result{RequeueAfter: time.Minute}, nil
	}
	_ = r.Delete(ctx, pod)
	objects.Remove(ctx, r.Client, pod) // want `Remove drops the error of Delete at objects.go:12`
	return ctrl.Result{}, nil
}
