package controller

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// Builder collects what a controller of the kind T watches. Mistakes come out at [Builder.Complete].
type Builder[T object.Object] struct {
	plan       *plan[reconcile.Request]
	prototype  T
	predicates []predicate.Predicate[T]
	owner      schema.GroupVersionKind
}

// For begins a controller that reconciles the objects of the kind T, a pointer to a type in the manager's scheme, such
// as *webappv1.Guestbook. There may be several of one kind, with names of their own. [ForPrototype] is for the types that
// are of any kind, such as *unstructured.Unstructured.
func For[T object.Object](m Manager) *Builder[T] {
	if form := reflect.TypeFor[T](); form.Kind() != reflect.Pointer {
		b := &Builder[T]{plan: newPlan[reconcile.Request](m, "")}
		b.plan.fail(fmt.Errorf("For needs a pointer to a type of the scheme, not %s", form))
		return b
	}
	return ForPrototype(m, object.New[T]())
}

// ForPrototype is [For] for the kind of prototype, which an *unstructured.Unstructured or *metav1.PartialObjectMetadata has
// set as its apiVersion and kind. The prototype is kept and must not be changed.
func ForPrototype[T object.Object](m Manager, prototype T) *Builder[T] {
	b := &Builder[T]{plan: newPlan[reconcile.Request](m, ""), prototype: prototype}
	var err error
	b.owner, err = object.GVK(prototype, m.Scheme())
	b.plan.fail(explainKind(prototype, err))
	b.plan.name, b.plan.kind = strings.ToLower(b.owner.Kind), b.owner.GroupKind().String()
	return b
}

// Named gives the controller a name other than that of its kind in lower case. Names are unique in a manager.
func (b *Builder[T]) Named(name string) *Builder[T] {
	b.plan.name = name
	return b
}

// WithOptions sets options. Where the manager has a default, a zero field means that.
func (b *Builder[T]) WithOptions(opts Options) *Builder[T] {
	b.plan.opts = opts
	return b
}

// WithPredicates leaves out events of the kind T that do not count for all predicates. Other watches are not affected.
// The predicates cannot leave out the end of an object: an update that begins its deletion or changes its finalizers
// counts if they let the object pass as a new one, see [predicate.OrEnding].
func (b *Builder[T]) WithPredicates(predicates ...predicate.Predicate[T]) *Builder[T] {
	b.predicates = append(b.predicates, predicates...)
	return b
}

// Owns reconciles an object also when an object of the kind of prototype changes whose controlling owner it is. With a
// *metav1.PartialObjectMetadata that has its kind set, only the metadata of these are watched and cached.
func (b *Builder[T]) Owns(prototype object.Object, predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	b.plan.watch(prototype, b.owned(), false, predicates)
	return b
}

// OwnsOptional is [Builder.Owns] for a kind that need not be there, see [source.Optional].
func (b *Builder[T]) OwnsOptional(prototype object.Object, predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	b.plan.watch(prototype, b.owned(), true, predicates)
	return b
}

func (b *Builder[T]) owned() handler.Handler[object.Object, reconcile.Request] {
	return handler.ForOwner[object.Object](b.owner.GroupKind(), b.plan.manager.RESTMapper(), true)
}

// Watches lets h decide what to reconcile when an object of the kind of prototype changes.
func (b *Builder[T]) Watches(prototype object.Object, h handler.Handler[object.Object, reconcile.Request], predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	b.plan.watch(prototype, h, false, predicates)
	return b
}

// WatchesOptional is [Builder.Watches] for a kind that need not be there, see [source.Optional].
func (b *Builder[T]) WatchesOptional(prototype object.Object, h handler.Handler[object.Object, reconcile.Request], predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	b.plan.watch(prototype, h, true, predicates)
	return b
}

// WatchesMetadata is [Builder.Watches] for the metadata alone of a kind: prototype may be of any Go type, and the objects
// of the events are *metav1.PartialObjectMetadata.
func (b *Builder[T]) WatchesMetadata(prototype object.Object, h handler.Handler[object.Object, reconcile.Request], predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	b.plan.watchMetadata(prototype, h, predicates)
	return b
}

// WatchesSource adds any source of requests.
func (b *Builder[T]) WatchesSource(s source.Source[reconcile.Request]) *Builder[T] {
	b.plan.sources = append(b.plan.sources, s)
	return b
}

// Complete makes the controller and adds it to the manager. It returns every mistake that was made on the way.
func (b *Builder[T]) Complete(r reconcile.Reconciler[reconcile.Request]) error {
	_, err := b.Build(r)
	return err
}

// Build is [Builder.Complete] for one who needs the controller, such as to [Controller.Subscribe] later.
func (b *Builder[T]) Build(r reconcile.Reconciler[reconcile.Request]) (*Controller[reconcile.Request], error) {
	return b.plan.build(r, func() (source.Source[reconcile.Request], error) {
		accept := predicate.OrEnding(predicate.And(b.predicates...))
		return source.Kind(b.plan.manager.Cache(), b.prototype, handler.ForObject[T](), accept)
	})
}
