package controller

import (
	"errors"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// RequestBuilder collects what a controller watches whose requests are no names of objects of one kind, but an R: any
// comparable type, such as a struct of a cluster and a key. Mistakes come out at [RequestBuilder.Complete].
type RequestBuilder[R comparable] struct{ plan *plan[R] }

// Of begins a controller with requests of type R.
func Of[R comparable](m Manager, name string) *RequestBuilder[R] {
	b := &RequestBuilder[R]{newPlan[R](m, name)}
	if name == "" {
		b.plan.fail(errors.New("the name is empty"))
	}
	return b
}

// WithOptions sets options. Where the manager has a default, a zero field means that.
func (b *RequestBuilder[R]) WithOptions(opts Options) *RequestBuilder[R] {
	b.plan.opts = opts
	return b
}

// Watches lets h decide what to reconcile when an object of the kind of prototype changes. [WatchKind] has handlers and
// predicates of the Go type of the kind.
func (b *RequestBuilder[R]) Watches(prototype object.Object, h handler.Handler[object.Object, R], predicates ...predicate.Predicate[object.Object]) *RequestBuilder[R] {
	b.plan.watch(prototype, h, false, predicates)
	return b
}

// WatchesOptional is [RequestBuilder.Watches] for a kind that need not be there, see [source.Optional].
func (b *RequestBuilder[R]) WatchesOptional(prototype object.Object, h handler.Handler[object.Object, R], predicates ...predicate.Predicate[object.Object]) *RequestBuilder[R] {
	b.plan.watch(prototype, h, true, predicates)
	return b
}

// WatchesMetadata is [RequestBuilder.Watches] for the metadata alone of a kind, see [Builder.WatchesMetadata].
func (b *RequestBuilder[R]) WatchesMetadata(prototype object.Object, h handler.Handler[object.Object, R], predicates ...predicate.Predicate[object.Object]) *RequestBuilder[R] {
	b.plan.watchMetadata(prototype, h, predicates)
	return b
}

// WatchKind is [RequestBuilder.Watches] with a handler and predicates of the Go type of the kind. It returns b.
func WatchKind[T object.Object, R comparable](b *RequestBuilder[R], prototype T, h handler.Handler[T, R], predicates ...predicate.Predicate[T]) *RequestBuilder[R] {
	watchKind(b.plan, prototype, h, false, predicates)
	return b
}

// WatchesSource adds any source of requests.
func (b *RequestBuilder[R]) WatchesSource(s source.Source[R]) *RequestBuilder[R] {
	b.plan.sources = append(b.plan.sources, s)
	return b
}

// Complete makes the controller and adds it to the manager. It returns every mistake that was made on the way.
func (b *RequestBuilder[R]) Complete(r reconcile.Reconciler[R]) error {
	_, err := b.Build(r)
	return err
}

// Build is [RequestBuilder.Complete] for one who needs the controller, such as to [Controller.Subscribe] later.
func (b *RequestBuilder[R]) Build(r reconcile.Reconciler[R]) (*Controller[R], error) {
	return b.plan.build(r, nil)
}
