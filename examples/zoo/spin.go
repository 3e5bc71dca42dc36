package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

// spin starts a pod and waits until it runs. With the bug, it requeues immediately, even after the pod runs.
func spin(ctx context.Context, k kit, a *App) (reconcile.Result, error) {
	if !a.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, nil
	}
	if err := k.createPod(ctx, a, a.Name, ""); err != nil {
		return reconcile.Result{}, err
	}
	pod := &corev1.Pod{}
	if err := k.Get(ctx, object.KeyOf(a), pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if k.fixed && pod.Status.Phase == corev1.PodRunning {
		return reconcile.Result{}, nil
	}
	return reconcile.Result{RequeueAfter: 100 * time.Millisecond}, nil
}
