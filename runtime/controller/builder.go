package controller

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
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
	switch any(prototype).(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		if err != nil {
			err = fmt.Errorf("%w; ForPrototype takes an object that has them", err)
		}
	}
	b.plan.fail(explainKind(err))
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

// plan is what builders have collected.
type plan[R comparable] struct {
	manager Manager
	name    string
	kind    string // of the objects that the requests name, empty when they name none
	opts    Options
	watches []func() (source.Source[R], error) // declare kinds at the cache, which is for the end
	sources []source.Source[R]
	errs    []error
}

func newPlan[R comparable](m Manager, name string) *plan[R] { return &plan[R]{manager: m, name: name} }

func (p *plan[R]) fail(err error) { p.errs = append(p.errs, err) }

// watch adds a kind to the plan.
func (p *plan[R]) watch(prototype object.Object, h handler.Handler[object.Object, R], optional bool, predicates []predicate.Predicate[object.Object]) {
	watchKind(p, prototype, h, optional, predicates)
}

func watchKind[T object.Object, R comparable](p *plan[R], prototype T, h handler.Handler[T, R], optional bool, predicates []predicate.Predicate[T]) {
	p.watches = append(p.watches, func() (source.Source[R], error) {
		s, err := source.Kind(p.manager.Cache(), prototype, h, predicates...)
		if err != nil || !optional {
			return s, explainKind(err)
		}
		return source.Optional(s), nil
	})
}

// watchMetadata adds the metadata of a kind to the plan.
func (p *plan[R]) watchMetadata(prototype object.Object, h handler.Handler[object.Object, R], predicates []predicate.Predicate[object.Object]) {
	gvk, err := object.GVK(prototype, p.manager.Scheme())
	if err != nil {
		p.fail(fmt.Errorf("watch metadata: %w", explainKind(err)))
		return
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	p.watch(metadata, h, false, predicates)
}

// build makes the controller with the watches after first, which may be nil, and adds it to the manager.
func (p *plan[R]) build(r reconcile.Reconciler[R], first func() (source.Source[R], error)) (*Controller[R], error) {
	if r == nil {
		p.fail(errors.New("the reconciler is nil"))
	}
	if err := errors.Join(p.errs...); err != nil {
		return nil, fmt.Errorf("controller %s: %w", p.name, err)
	}
	var own, sources []source.Source[R]
	var errs []error
	if first != nil {
		s, err := first()
		own, errs = append(own, s), append(errs, err)
	}
	for _, declare := range p.watches {
		s, err := declare()
		sources, errs = append(sources, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("controller %s: %w", p.name, err)
	}
	c := New(p.name, r, p.options())
	c.events.kind = p.kind
	for _, s := range append(append(own, p.sources...), sources...) {
		errs = append(errs, c.Watch(s))
	}
	errs = append(errs, p.manager.Add(c))
	if p.opts.WarmUp {
		errs = append(errs, p.manager.Add(c.WarmUp()))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (p *plan[R]) options() Options {
	opts := p.opts
	opts.MaxConcurrentReconciles = cmp.Or(opts.MaxConcurrentReconciles, p.manager.MaxConcurrentReconciles())
	opts.Logger = cmp.Or(opts.Logger, p.manager.Logger())
	opts.Metrics = cmp.Or(opts.Metrics, p.manager.Metrics())
	return opts
}

// Manager is what a controller needs of the manager that runs it. *manager.Manager is one.
type Manager interface {
	// Add makes the manager run r. It fails when it has a controller of the same name.
	Add(r Runnable) error
	Cache() *cache.Cache
	Scheme() *runtime.Scheme
	RESTMapper() meta.RESTMapper
	Logger() *slog.Logger
	Metrics() *metrics.Registry
	// MaxConcurrentReconciles is the number of workers of controllers that say none.
	MaxConcurrentReconciles() int
}
