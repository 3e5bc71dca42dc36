// Package reconcile defines the interfaces of reconcilers. Requests and results have kctrl's types.
package reconcile

import (
	"context"
	"reflect"

	kreconcile "github.com/kctrl-dev/kctrl/runtime/reconcile"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Result is the result of a reconcile.
type Result = kreconcile.Result

// Request names the object to reconcile.
type Request = kreconcile.Request

// Reconciler reconciles objects.
type Reconciler = TypedReconciler[Request]

// TypedReconciler reconciles requests of any type.
type TypedReconciler[request comparable] interface {
	// Reconcile brings the cluster to the desired state. After an error, it is called again with a backoff, unless the
	// error is a [TerminalError].
	Reconcile(context.Context, request) (Result, error)
}

// Func is a function that reconciles objects.
type Func = TypedFunc[Request]

// TypedFunc is a function that reconciles requests of any type.
type TypedFunc[request comparable] func(context.Context, request) (Result, error)

var _ Reconciler = Func(nil)

// Reconcile calls f.
func (f TypedFunc[request]) Reconcile(ctx context.Context, req request) (Result, error) {
	return f(ctx, req)
}

// ObjectReconciler reconciles objects of one Go type.
type ObjectReconciler[object client.Object] interface {
	// Reconcile is like [TypedReconciler.Reconcile], with the object of the request.
	Reconcile(context.Context, object) (Result, error)
}

// AsReconciler returns a reconciler that reads the object of each request and calls rec. It ignores missing objects.
func AsReconciler[object client.Object](c client.Client, rec ObjectReconciler[object]) Reconciler {
	form := reflect.TypeFor[object]().Elem()
	return Func(func(ctx context.Context, req Request) (Result, error) {
		obj := reflect.New(form).Interface().(object)
		if err := c.Get(ctx, req.NamespacedName, obj); err != nil {
			return Result{}, client.IgnoreNotFound(err)
		}
		return rec.Reconcile(ctx, obj)
	})
}

// TerminalError wraps an error that must not be retried.
func TerminalError(wrapped error) error { return &terminalError{wrapped} }

// terminalError is an error that kctrl's controllers do not retry.
type terminalError struct{ err error }

// Error returns the text of the error.
func (e *terminalError) Error() string {
	if e.err == nil {
		return "nil terminal error"
	}
	return "terminal error: " + e.err.Error()
}

// Unwrap returns the error, which may be nil.
func (e *terminalError) Unwrap() error { return e.err }

// Is reports whether target is a terminal error.
func (e *terminalError) Is(target error) bool {
	if target == kreconcile.ErrTerminal {
		return true
	}
	_, ok := target.(*terminalError)
	return ok
}
