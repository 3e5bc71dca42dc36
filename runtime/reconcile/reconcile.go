// Package reconcile defines the contract between a controller and its reconciler.
package reconcile

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Request names the object to reconcile. It does not describe the event: a reconciler reads the current state and acts
// on it.
type Request struct {
	types.NamespacedName
}

// Result schedules the next reconcile after a success.
type Result struct {
	// RequeueAfter is the delay until the next reconcile of the request. Zero means that only an event leads to one. It
	// is ignored if Reconcile returns an error.
	RequeueAfter time.Duration
	// Requeue schedules another reconcile of the request after the backoff of an error. It is not an error: nothing is
	// logged. The backoff grows until a reconcile does not set Requeue. Use RequeueAfter for a known delay; it takes
	// precedence.
	Requeue bool
	// Priority is the priority of the next reconcile, if a field above or an error schedules one. Nil keeps the current
	// priority. Higher priorities come first. Events have priority 0, and objects that exist at the start a lower one.
	Priority *int
}

// IsZero reports whether r, which may be nil, schedules nothing.
func (r *Result) IsZero() bool { return r == nil || *r == (Result{}) }

// Reconciler moves the object that a request names toward its spec. R is the request type of the controller, usually
// [Request].
//
// Reconcile is called concurrently, but never twice at once for one request. An error is retried with exponential
// backoff, unless it is a [TerminalError]. The context ends when the controller stops.
type Reconciler[R comparable] interface {
	Reconcile(ctx context.Context, request R) (Result, error)
}

// Func implements Reconciler by a function.
type Func[R comparable] func(ctx context.Context, request R) (Result, error)

// Reconcile calls f.
func (f Func[R]) Reconcile(ctx context.Context, request R) (Result, error) { return f(ctx, request) }

// ErrTerminal matches every [TerminalError] in errors.Is.
var ErrTerminal = errors.New("terminal error")

// TerminalError wraps err so that the controller reports it without a retry. Only an event leads to another reconcile.
// The result is an error even if err is nil.
func TerminalError(err error) error { return &terminalError{err: err} }

type terminalError struct{ err error }

func (e *terminalError) Error() string {
	if e.err == nil {
		return ErrTerminal.Error()
	}
	return ErrTerminal.Error() + ": " + e.err.Error()
}

func (e *terminalError) Unwrap() error { return e.err }

func (e *terminalError) Is(target error) bool { return target == ErrTerminal }
