// Package reconcile defines the contract between a controller and its reconciler.
package reconcile

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Request identifies the object to reconcile. It does not describe the event that caused it, because a reconciler reads
// the current state and acts on that.
type Request struct {
	types.NamespacedName
}

// Result schedules the next reconcile after a success.
type Result struct {
	// RequeueAfter is the delay until the next reconcile of the request. Zero means that the request is reconciled again
	// only after an event. It is ignored if Reconcile returns an error.
	RequeueAfter time.Duration
	// Requeue schedules another reconcile of the request after the same backoff as an error, but no error is logged. The
	// backoff grows with each consecutive reconcile that sets Requeue. Use RequeueAfter for a known delay; it takes
	// precedence.
	Requeue bool
	// Priority is the priority of the next reconcile, if a field above or an error schedules one. Nil keeps the current
	// priority. Requests with higher priorities are reconciled first. Events have priority 0; objects that exist at the
	// start have a lower priority.
	Priority *int
}

// IsZero reports whether r, which may be nil, schedules nothing.
func (r *Result) IsZero() bool { return r == nil || *r == (Result{}) }

// Reconciler moves the cluster toward the state that the requested object specifies. R is the request type of the
// controller, usually [Request].
//
// The controller calls Reconcile concurrently, but never for the same request at the same time. After an error, it
// retries the request with exponential backoff, unless the error is a [TerminalError]. The context ends when the
// controller stops.
type Reconciler[R comparable] interface {
	Reconcile(ctx context.Context, request R) (Result, error)
}

// Func is a function that implements Reconciler.
type Func[R comparable] func(ctx context.Context, request R) (Result, error)

// Reconcile calls f.
func (f Func[R]) Reconcile(ctx context.Context, request R) (Result, error) { return f(ctx, request) }

// ErrTerminal is wrapped by every [TerminalError]: test with errors.Is(err, ErrTerminal).
var ErrTerminal = errors.New("terminal error")

// TerminalError wraps err so that the controller reports the error but does not retry the request. The request is
// reconciled again only after an event. The result is not nil even if err is nil.
func TerminalError(err error) error { return &terminalError{err: err} }

type terminalError struct{ err error }

func (e *terminalError) Error() string {
	if e.err == nil {
		return ErrTerminal.Error()
	}
	return ErrTerminal.Error() + ": " + e.err.Error()
}

func (e *terminalError) Unwrap() error        { return e.err }
func (e *terminalError) Is(target error) bool { return target == ErrTerminal }
