package builder

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
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

type matchEveryOwner struct{}

func (matchEveryOwner) ApplyToOwns() {}

var MatchEveryOwner = matchEveryOwner{}

func (b *Builder) For(o client.Object, opts ...ForOption) *Builder   { return b }
func (b *Builder) Owns(o client.Object, opts ...OwnsOption) *Builder { return b }
func (b *Builder) Watches(o client.Object, h handler.EventHandler, opts ...WatchesOption) *Builder {
	return b
}
func (b *Builder) WithEventFilter(p predicate.Predicate) *Builder { return b }
func (b *Builder) WithOptions(o controller.Options) *Builder      { return b }
func (b *Builder) Named(name string) *Builder                     { return b }
func (b *Builder) Complete(r reconcile.Reconciler) error          { return nil }

type WebhookBuilder[T any] struct{}

func (b *WebhookBuilder[T]) WithDefaulter(d admission.Defaulter[T]) *WebhookBuilder[T] { return b }
func (b *WebhookBuilder[T]) WithValidator(v admission.Validator[T]) *WebhookBuilder[T] { return b }
func (b *WebhookBuilder[T]) Complete() error                                           { return nil }
