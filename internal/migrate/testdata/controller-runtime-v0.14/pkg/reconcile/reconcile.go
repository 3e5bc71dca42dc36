// Package reconcile has the signatures of controller-runtime's.
package reconcile

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
)

type Request struct{ types.NamespacedName }

type Result struct{ Requeue bool }

type Reconciler interface {
	Reconcile(context.Context, Request) (Result, error)
}
