package errorandrequeue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	ctrl "sigs.k8s.io/controller-runtime"
)

func work(ctx context.Context) error { return nil }

func tested(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := work(ctx); err != nil {
		return ctrl.Result{RequeueAfter: time.Minute}, err // want `errorandrequeue: the error makes RequeueAfter of this Result void`
	}
	return ctrl.Result{RequeueAfter: time.Minute}, nil
}

func wrapped(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := work(ctx); err != nil {
		return ctrl.Result{Requeue: true}, fmt.Errorf("work: %w", err) // want `the error makes Requeue of this Result void`
	}
	return ctrl.Result{Requeue: true}, nil
}

func own(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{RequeueAfter: 5}, errors.New("never") // want `the error makes RequeueAfter`
}

func terminal(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	err := work(ctx)
	return reconcile.Result{RequeueAfter: 5}, reconcile.TerminalError(err) // want `the error makes RequeueAfter`
}

func unsure(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return reconcile.Result{RequeueAfter: time.Minute}, work(ctx)
}

func empty(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if err := work(ctx); err != nil {
		return reconcile.Result{Requeue: false}, err
	}
	return reconcile.Result{}, nil
}
