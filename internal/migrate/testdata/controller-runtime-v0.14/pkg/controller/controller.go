// Package controller has the signatures of controller-runtime's.
package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/ratelimiter"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type Options struct {
	MaxConcurrentReconciles int
	Reconciler              reconcile.Reconciler
	RateLimiter             ratelimiter.RateLimiter
}

type Controller interface {
	Watch(src source.Source, h handler.EventHandler, predicates ...predicate.Predicate) error
}

func New(name string, m manager.Manager, options Options) (Controller, error) { return nil, nil }
