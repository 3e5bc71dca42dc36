package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Request struct{ types.NamespacedName }

type Result struct {
	Requeue      bool
	RequeueAfter time.Duration
}

func (r *Result) IsZero() bool { return true }

type Reconciler interface {
	Reconcile(context.Context, Request) (Result, error)
}

type ObjectReconciler[T client.Object] interface {
	Reconcile(context.Context, T) (Result, error)
}

func AsReconciler[T client.Object](c client.Client, rec ObjectReconciler[T]) Reconciler { return nil }

func TerminalError(err error) error { return err }
