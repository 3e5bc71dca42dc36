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

// A function with a deferred call sets variables before it returns.
func deferred(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer fmt.Println("end")
	err := work(ctx)
	defer func() { fmt.Println(err) }()
	if err != nil {
		return ctrl.Result{Requeue: true}, err // want `the error makes Requeue of this Result void`
	}
	return ctrl.Result{Requeue: true}, err
}

// The deferred call may set the error to nil.
func ignored(ctx context.Context, req ctrl.Request) (result ctrl.Result, err error) {
	defer func() { err = nil }()
	if err := work(ctx); err != nil {
		return ctrl.Result{Requeue: true}, err
	}
	return ctrl.Result{}, nil
}

var errUnknown = errors.New("unknown")

func global(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{Requeue: true}, errUnknown
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

// Callers that return the Result unchanged do not change the finding.
func reconcileAll(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	result, err := passedOn(ctx)
	if err != nil {
		return result, err
	}
	if _, err := inspectedByCaller(ctx); err != nil {
		return ctrl.Result{}, err
	}
	return done(ctx)
}

func passedOn(ctx context.Context) (ctrl.Result, error) {
	if err := work(ctx); err != nil {
		return ctrl.Result{RequeueAfter: time.Minute}, err // want `the error makes RequeueAfter of this Result void`
	}
	return ctrl.Result{}, nil
}

// A caller that reads RequeueAfter may use it.
func done(ctx context.Context) (ctrl.Result, error) {
	result, err := inspectedByCaller(ctx)
	if result.RequeueAfter > 0 {
		return result, nil
	}
	return ctrl.Result{}, err
}

func inspectedByCaller(ctx context.Context) (ctrl.Result, error) {
	if err := work(ctx); err != nil {
		return ctrl.Result{RequeueAfter: time.Second}, err
	}
	return ctrl.Result{}, nil
}

// Exported functions that other packages call are unknown.
func Unknown(ctx context.Context) (ctrl.Result, error) {
	if err := work(ctx); err != nil {
		return ctrl.Result{RequeueAfter: time.Minute}, err
	}
	return ctrl.Result{}, nil
}
