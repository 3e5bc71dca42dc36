package controller

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
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

// Builder collects what a controller of the kind T watches. Mistakes come out at [Builder.Complete].
type Builder[T object.Object] struct {
	manager    Manager
	name       string
	opts       Options
	predicates []predicate.Predicate[T]
	watches    []watched
	sources    []source.Source[reconcile.Request]
	owner      schema.GroupVersionKind
	errs       []error
}

// watched is a kind that a controller watches besides its own.
type watched struct {
	prototype  object.Object
	handler    handler.Handler[object.Object, reconcile.Request]
	predicates []predicate.Predicate[object.Object]
}

// For begins a controller that reconciles the objects of the kind T, a pointer to a type in the manager's scheme, such
// as *webappv1.Guestbook.
func For[T object.Object](m Manager) *Builder[T] {
	b := &Builder[T]{manager: m}
	if form := reflect.TypeFor[T](); form.Kind() != reflect.Pointer {
		b.errs = append(b.errs, fmt.Errorf("For needs a pointer to a type of the scheme, not %s", form))
		return b
	}
	var err error
	b.owner, err = object.GVK(object.New[T](), m.Scheme())
	b.errs = append(b.errs, err)
	return b
}

// Named gives the controller a name other than that of its kind in lower case. Names are unique in a manager.
func (b *Builder[T]) Named(name string) *Builder[T] {
	b.name = name
	return b
}

// WithOptions sets options. Where the manager has a default, a zero field means that.
func (b *Builder[T]) WithOptions(opts Options) *Builder[T] {
	b.opts = opts
	return b
}

// WithPredicates leaves out events of the kind T that do not count for all predicates. Other watches are not affected.
func (b *Builder[T]) WithPredicates(predicates ...predicate.Predicate[T]) *Builder[T] {
	b.predicates = append(b.predicates, predicates...)
	return b
}

// Owns reconciles an object also when an object of the kind of prototype changes whose controlling owner it is.
func (b *Builder[T]) Owns(prototype object.Object, predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	owned := handler.ForOwner[object.Object](b.owner.GroupKind(), b.manager.RESTMapper(), true)
	b.watches = append(b.watches, watched{prototype, owned, predicates})
	return b
}

// Watches lets h decide what to reconcile when an object of the kind of prototype changes.
func (b *Builder[T]) Watches(prototype object.Object, h handler.Handler[object.Object, reconcile.Request], predicates ...predicate.Predicate[object.Object]) *Builder[T] {
	b.watches = append(b.watches, watched{prototype, h, predicates})
	return b
}

// WatchesSource adds any source of requests.
func (b *Builder[T]) WatchesSource(s source.Source[reconcile.Request]) *Builder[T] {
	b.sources = append(b.sources, s)
	return b
}

// Complete makes the controller and adds it to the manager. It returns every mistake that was made on the way.
func (b *Builder[T]) Complete(r reconcile.Reconciler[reconcile.Request]) error {
	c, err := b.build(r)
	if err != nil {
		return err
	}
	return b.manager.Add(c)
}

func (b *Builder[T]) build(r reconcile.Reconciler[reconcile.Request]) (*Controller[reconcile.Request], error) {
	name := cmp.Or(b.name, strings.ToLower(b.owner.Kind))
	if r == nil {
		b.errs = append(b.errs, errors.New("the reconciler is nil"))
	}
	if err := errors.Join(b.errs...); err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	own, err := source.Kind(b.manager.Cache(), object.New[T](), handler.ForObject[T](), b.predicates...)
	errs := []error{err}
	sources := append([]source.Source[reconcile.Request]{own}, b.sources...)
	for _, w := range b.watches {
		s, err := source.Kind(b.manager.Cache(), w.prototype, w.handler, w.predicates...)
		sources, errs = append(sources, s), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	c := New(name, r, b.options())
	for _, s := range sources {
		errs = append(errs, c.Watch(s))
	}
	return c, errors.Join(errs...)
}

func (b *Builder[T]) options() Options {
	opts := b.opts
	opts.MaxConcurrentReconciles = cmp.Or(opts.MaxConcurrentReconciles, b.manager.MaxConcurrentReconciles())
	opts.Logger = cmp.Or(opts.Logger, b.manager.Logger())
	opts.Metrics = cmp.Or(opts.Metrics, b.manager.Metrics())
	return opts
}
