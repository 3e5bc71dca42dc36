package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type Options struct {
	MaxConcurrentReconciles int
	RecoverPanic            *bool
	RateLimiter             any
	Reconciler              reconcile.Reconciler
}

type TypedController[request comparable] interface {
	Watch(src source.TypedSource[request]) error
}

type Controller = TypedController[reconcile.Request]

func New(name string, m manager.Manager, options Options) (Controller, error) { return nil, nil }
