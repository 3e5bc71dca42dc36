// Package builder is a stub.
package builder

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type Builder struct{}

type (
	ForOption     interface{ ApplyToFor() }
	OwnsOption    interface{ ApplyToOwns() }
	WatchesOption interface{ ApplyToWatches() }
)

type Predicates struct{}

func (Predicates) ApplyToFor()     {}
func (Predicates) ApplyToOwns()    {}
func (Predicates) ApplyToWatches() {}

func WithPredicates(predicates ...predicate.Predicate) Predicates { return Predicates{} }

type metadataOnly struct{}

func (metadataOnly) ApplyToFor()     {}
func (metadataOnly) ApplyToOwns()    {}
func (metadataOnly) ApplyToWatches() {}

var OnlyMetadata = metadataOnly{}

func ControllerManagedBy(m manager.Manager) *Builder { return &Builder{} }

func (b *Builder) For(o client.Object, opts ...ForOption) *Builder   { return b }
func (b *Builder) Named(name string) *Builder                        { return b }
func (b *Builder) Owns(o client.Object, opts ...OwnsOption) *Builder { return b }
func (b *Builder) Watches(o client.Object, h handler.EventHandler, opts ...WatchesOption) *Builder {
	return b
}
func (b *Builder) WatchesRawSource(source any) *Builder           { return b }
func (b *Builder) WithEventFilter(p predicate.Predicate) *Builder { return b }
func (b *Builder) Complete(r reconcile.Reconciler) error          { return nil }
