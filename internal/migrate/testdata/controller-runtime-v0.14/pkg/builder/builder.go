// Package builder has the signatures of controller-runtime's.
package builder

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type Builder struct{}

func ControllerManagedBy(m manager.Manager) *Builder { return nil }

type (
	ForOption     interface{ ApplyToFor() }
	OwnsOption    interface{ ApplyToOwns() }
	WatchesOption interface{ ApplyToWatches() }
)

type Predicates struct{}

func (Predicates) ApplyToFor()     {}
func (Predicates) ApplyToOwns()    {}
func (Predicates) ApplyToWatches() {}

func WithPredicates(p ...predicate.Predicate) Predicates { return Predicates{} }

func (b *Builder) For(o client.Object, opts ...ForOption) *Builder   { return b }
func (b *Builder) Owns(o client.Object, opts ...OwnsOption) *Builder { return b }
func (b *Builder) Watches(s source.Source, h handler.EventHandler, opts ...WatchesOption) *Builder {
	return b
}
func (b *Builder) WithOptions(o controller.Options) *Builder                   { return b }
func (b *Builder) Complete(r reconcile.Reconciler) error                       { return nil }
func (b *Builder) Build(r reconcile.Reconciler) (controller.Controller, error) { return nil, nil }
