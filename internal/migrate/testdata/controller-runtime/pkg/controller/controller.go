package controller

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type TypedOptions[request comparable] struct {
	MaxConcurrentReconciles int
	RecoverPanic            *bool
	NeedLeaderElection      *bool
	RateLimiter             any
	Reconciler              reconcile.TypedReconciler[request]
}

type Options = TypedOptions[reconcile.Request]

type TypedController[request comparable] interface {
	Watch(src source.TypedSource[request]) error
	Start(ctx context.Context) error
}

type Controller = TypedController[reconcile.Request]

func NewUnmanaged(name string, options Options) (Controller, error) { return nil, nil }

func New(name string, m manager.Manager, options Options) (Controller, error) { return nil, nil }
