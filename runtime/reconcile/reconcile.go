// Package reconcile is the contract between a controller and the code that makes the world match a spec.
package reconcile

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Request names the object to reconcile. It says nothing about what happened: a reconciler reads the current state
// and acts on that.
type Request struct {
	types.NamespacedName
}

// Result says when to look again after a reconcile that did not fail.
type Result struct {
	// RequeueAfter asks for another reconcile of the same request after this time. Zero means: when something changes.
	// It is ignored when Reconcile returns an error.
	RequeueAfter time.Duration
	// Requeue asks for another reconcile of the same request after the backoff that an error would have, without being
	// one: nothing is logged, and the backoff grows until a reconcile does not ask. Where there is a time to wait, name
	// it by RequeueAfter, which is used if both are set.
	Requeue bool
	// Priority is that of the next reconcile, if this one asks for it by a field above or by an error. Nil is the
	// priority of this one. Higher ones go first; that of an event is 0, and what exists at the start has a lower one.
	Priority *int
}

// Reconciler makes the state of the world match the spec of what the request names. R is the request type of the
// controller, for nearly all controllers [Request].
//
// Reconcile is called from several goroutines, but never twice at once for one request. An error is retried with
// exponential backoff, unless it is a [TerminalError]. The context ends when the controller stops.
type Reconciler[R comparable] interface {
	Reconcile(ctx context.Context, request R) (Result, error)
}

// Func is a function that is a Reconciler.
type Func[R comparable] func(ctx context.Context, request R) (Result, error)

// Reconcile calls f.
func (f Func[R]) Reconcile(ctx context.Context, request R) (Result, error) { return f(ctx, request) }

// ErrTerminal is what errors.Is finds in every [TerminalError].
var ErrTerminal = errors.New("terminal error")

// TerminalError wraps err so that the controller reports it and does not retry: only a change of the object, or of
// what it depends on, leads to another reconcile. A nil err is still an error.
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
