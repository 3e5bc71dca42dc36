// Package reconcile is a stub.
package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

type Request struct{ types.NamespacedName }

type Result struct {
	Requeue      bool
	RequeueAfter time.Duration
}

func TerminalError(err error) error { return err }

type Reconciler interface {
	Reconcile(context.Context, Request) (Result, error)
}
