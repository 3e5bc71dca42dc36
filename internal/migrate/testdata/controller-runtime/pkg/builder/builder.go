package builder

import (
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

type TypedBuilder[request comparable] struct{}

type Builder = TypedBuilder[reconcile.Request]

func ControllerManagedBy(m manager.Manager) *Builder { return nil }

func TypedControllerManagedBy[request comparable](m manager.Manager) *TypedBuilder[request] {
	return nil
}

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

type projectAs int

func (projectAs) ApplyToFor()     {}
func (projectAs) ApplyToOwns()    {}
func (projectAs) ApplyToWatches() {}

const OnlyMetadata = projectAs(1)

type matchEveryOwner struct{}

func (matchEveryOwner) ApplyToOwns() {}

var MatchEveryOwner = matchEveryOwner{}

func (b *TypedBuilder[R]) For(o client.Object, opts ...ForOption) *TypedBuilder[R]   { return b }
func (b *TypedBuilder[R]) Owns(o client.Object, opts ...OwnsOption) *TypedBuilder[R] { return b }
func (b *TypedBuilder[R]) Watches(o client.Object, h handler.TypedEventHandler[client.Object, R], opts ...WatchesOption) *TypedBuilder[R] {
	return b
}
func (b *TypedBuilder[R]) WatchesRawSource(s source.TypedSource[R]) *TypedBuilder[R] { return b }
func (b *TypedBuilder[R]) WithEventFilter(p predicate.Predicate) *TypedBuilder[R]    { return b }
func (b *TypedBuilder[R]) WithOptions(o controller.TypedOptions[R]) *TypedBuilder[R] { return b }
func (b *TypedBuilder[R]) Named(name string) *TypedBuilder[R]                        { return b }
func (b *TypedBuilder[R]) Complete(r reconcile.TypedReconciler[R]) error             { return nil }

type WebhookBuilder[T any] struct{}

func (b *WebhookBuilder[T]) WithDefaulter(d admission.Defaulter[T]) *WebhookBuilder[T] { return b }
func (b *WebhookBuilder[T]) WithValidator(v admission.Validator[T]) *WebhookBuilder[T] { return b }
func (b *WebhookBuilder[T]) WithCustomDefaulter(d admission.Defaulter[runtime.Object]) *WebhookBuilder[T] {
	return b
}
func (b *WebhookBuilder[T]) WithCustomValidator(v admission.Validator[runtime.Object]) *WebhookBuilder[T] {
	return b
}
func (b *WebhookBuilder[T]) WithConverter(c func(*runtime.Scheme) (conversion.Converter, error)) *WebhookBuilder[T] {
	return b
}
func (b *WebhookBuilder[T]) Complete() error { return nil }
