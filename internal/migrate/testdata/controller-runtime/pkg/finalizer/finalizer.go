// Package finalizer has the signatures of controller-runtime's.
package finalizer

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

type Registerer interface {
	Register(key string, f Finalizer) error
}

type Finalizer interface {
	Finalize(context.Context, client.Object) (Result, error)
}

type Finalizers interface {
	Registerer
	Finalizer
}

type Result struct{ Updated, StatusUpdated bool }

func NewFinalizers() Finalizers { return nil }
