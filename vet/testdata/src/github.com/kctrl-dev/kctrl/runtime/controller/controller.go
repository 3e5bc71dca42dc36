// Package controller is a stub.
package controller

import (
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
)

type Manager interface {
	Client() client.Client
	Live() *client.REST
}

type Builder[T client.Object, R comparable] struct{}

func For[T client.Object](m Manager) *Builder[T, reconcile.Request] { return nil }

func (b *Builder[T, R]) Named(name string) *Builder[T, R] { return b }

func (b *Builder[T, R]) WithPredicates(predicates ...predicate.Predicate) *Builder[T, R] { return b }

func (b *Builder[T, R]) WithEventFilter(predicates ...predicate.Predicate) *Builder[T, R] { return b }

func (b *Builder[T, R]) Owns(prototype client.Object, predicates ...predicate.Predicate) *Builder[T, R] {
	return b
}

func (b *Builder[T, R]) Complete(r reconcile.Reconciler[R]) error { return nil }
