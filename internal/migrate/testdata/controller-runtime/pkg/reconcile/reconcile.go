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

type TypedReconciler[request comparable] interface {
	Reconcile(context.Context, request) (Result, error)
}

type Reconciler = TypedReconciler[Request]

type ObjectReconciler[T client.Object] interface {
	Reconcile(context.Context, T) (Result, error)
}

func AsReconciler[T client.Object](c client.Client, rec ObjectReconciler[T]) Reconciler { return nil }

func TerminalError(err error) error { return err }
