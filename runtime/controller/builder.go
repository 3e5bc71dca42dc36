package controller

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

// Builder configures a controller with requests of type R. T is the type of the reconciled objects if the builder is
// from [For]. The methods of a Builder return no errors; [Builder.Complete] returns all of them.
type Builder[T object.Object, R comparable] struct {
	manager    Manager
	name       string
	opts       Options
	forKind    bool                               // For has set the kind
	owning     bool                               // Owns was called, which requires a kind
	prototype  T                                  // argument of For
	kind       schema.GroupVersionKind            // kind of prototype
	predicates []predicate.Predicate              // for the kind of For
	filters    []predicate.Predicate              // for all kinds
	watches    []func() (source.Source[R], error) // in order; called by Complete, because they declare kinds at the cache
	limiter    RateLimiter[R]
	errs       []error
}

// For returns a builder of a controller that reconciles objects of type T, a pointer to a type in the manager's scheme,
// such as *webappv1.Guestbook. If several controllers reconcile the same kind, give them different names with
// [Builder.Named]. For Go types without a fixed kind, such as *unstructured.Unstructured, use [Builder.For].
func For[T object.Object](m Manager) *Builder[T, reconcile.Request] {
	if form := reflect.TypeFor[T](); form.Kind() != reflect.Pointer {
		b := &Builder[T, reconcile.Request]{manager: m, forKind: true}
		return b.fail(fmt.Errorf("For needs a pointer to a type of the scheme, not %s", form))
	}
	return (&Builder[T, reconcile.Request]{manager: m}).For(object.New[T]())
}

// For makes the controller reconcile objects of prototype's kind, which must be set if prototype is an
// *unstructured.Unstructured or *metav1.PartialObjectMetadata. The builder keeps prototype, which must not be modified.
// For can be called once, and only on a builder that [ForRequests] has returned for reconcile.Request. The predicates
// have the effect of [Builder.WithPredicates].
func (b *Builder[T, R]) For(prototype T, predicates ...predicate.Predicate) *Builder[T, R] {
	forObject, namesObjects := any(handler.ForObject[object.Object]()).(handler.Handler[object.Object, R])
	if !namesObjects || b.forKind {
		return b.fail(errors.New("For is for a controller of a reconcile.Request that has no kind yet"))
	}
	b.forKind, b.prototype, b.predicates = true, prototype, predicates
	var err error
	b.kind, err = object.GVK(prototype, b.manager.Scheme())
	switch any(prototype).(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		if err != nil {
			err = fmt.Errorf("%w; ForRequests[reconcile.Request](m, name).For takes an object that has them", err)
		}
	}
	b.name = cmp.Or(b.name, strings.ToLower(b.kind.Kind))
	return b.fail(explainKind(err)).watch(func() source.Source[R] {
		predicates := slices.Concat(b.filters, b.predicates)
		if len(predicates) == 0 {
			return source.Keys(b.manager.Cache(), object.Object(prototype), forObject)
		}
		accept := predicate.OrEnding(predicate.And(predicates...))
		return source.Kind[object.Object](b.manager.Cache(), prototype, forObject, accept)
	}, false)
}

// ForRequests returns a builder of a controller whose requests are of any comparable type R, such as a struct of a
// cluster and a key. If R is reconcile.Request, [Builder.For] sets the kind, and the default name if name is empty.
func ForRequests[R comparable](m Manager, name string) *Builder[object.Object, R] {
	return &Builder[object.Object, R]{manager: m, name: name}
}

func (b *Builder[T, R]) fail(err error) *Builder[T, R] {
	if err != nil {
		b.errs = append(b.errs, err)
	}
	return b
}

// Named sets the name of the controller, which is unique in a manager. The default for [For] is the lower-case kind.
func (b *Builder[T, R]) Named(name string) *Builder[T, R] {
	b.name = name
	return b
}

// WithOptions sets the options of the controller. For zero fields, the manager's default applies if it has one.
func (b *Builder[T, R]) WithOptions(opts Options) *Builder[T, R] {
	b.opts = opts
	return b
}

// WithRateLimiter makes l determine the backoff of failed requests, instead of BaseDelay and MaxDelay of the options.
// The same rules as for the default backoff determine which events interrupt it, see the package comment.
func (b *Builder[T, R]) WithRateLimiter(l RateLimiter[R]) *Builder[T, R] {
	b.limiter = l
	return b
}

// WithPredicates drops events of the kind of [For] unless all predicates accept them. It does not affect other watches.
// An update that begins the deletion of an object or changes its finalizers is not dropped if the predicates would
// accept the object as a new one, see [predicate.OrEnding].
func (b *Builder[T, R]) WithPredicates(predicates ...predicate.Predicate) *Builder[T, R] {
	if !b.forKind {
		return b.fail(errors.New("WithPredicates is for the kind of For; a watch has predicates of its own"))
	}
	b.predicates = append(b.predicates, predicates...)
	return b
}

// WithEventFilter drops events of every watched kind, including kinds that are added later, unless all predicates
// accept them. It does not affect sources of [Builder.WatchesSource]. For the kind of [For], the exception of
// [Builder.WithPredicates] for deletions applies.
func (b *Builder[T, R]) WithEventFilter(predicates ...predicate.Predicate) *Builder[T, R] {
	b.filters = append(b.filters, predicates...)
	return b
}

// Owns makes the controller also reconcile an object when an object of prototype's kind changes whose controlling owner
// it is. If prototype is a *metav1.PartialObjectMetadata with its kind set, only the metadata of owned objects are
// watched and cached. Owns requires that [For] or [Builder.For] sets the kind of the owner.
func (b *Builder[T, R]) Owns(prototype object.Object, predicates ...predicate.Predicate) *Builder[T, R] {
	return b.owns(prototype, false, predicates)
}

// OwnsOptional is like [Builder.Owns], for a kind that the server may not serve, see [source.Optional].
func (b *Builder[T, R]) OwnsOptional(prototype object.Object, predicates ...predicate.Predicate) *Builder[T, R] {
	return b.owns(prototype, true, predicates)
}

func (b *Builder[T, R]) owns(prototype object.Object, optional bool, predicates []predicate.Predicate) *Builder[T, R] {
	b.owning = true
	return b.watch(func() source.Source[R] {
		// Read the kind here, because For may be called after Owns, see declare.
		owner := handler.ForOwner[object.Object](b.kind.GroupKind(), b.manager.RESTMapper(), true)
		requestOwner, _ := any(owner).(handler.Handler[object.Object, R])
		return source.Kind(b.manager.Cache(), prototype, requestOwner, slices.Concat(b.filters, predicates)...)
	}, optional)
}

// Watches calls h when an object of prototype's kind changes; h decides which requests to add. [handler.For] returns
// both arguments for a function of the kind's Go type:
//
//	Watches(handler.For(func(ctx context.Context, s *corev1.Secret) []reconcile.Request { ... }))
func (b *Builder[T, R]) Watches(
	prototype object.Object, h handler.Handler[object.Object, R], predicates ...predicate.Predicate,
) *Builder[T, R] {
	return b.watchesKind(prototype, h, false, predicates)
}

// WatchesOptional is like [Builder.Watches], for a kind that the server may not serve, see [source.Optional].
func (b *Builder[T, R]) WatchesOptional(
	prototype object.Object, h handler.Handler[object.Object, R], predicates ...predicate.Predicate,
) *Builder[T, R] {
	return b.watchesKind(prototype, h, true, predicates)
}

// WatchesMetadata is like [Builder.Watches], but watches and caches only the metadata of the kind. prototype may have
// any Go type of the kind; the objects in events are *metav1.PartialObjectMetadata.
func (b *Builder[T, R]) WatchesMetadata(
	prototype object.Object, h handler.Handler[object.Object, R], predicates ...predicate.Predicate,
) *Builder[T, R] {
	gvk, err := object.GVK(prototype, b.manager.Scheme())
	if err != nil {
		return b.fail(fmt.Errorf("watch metadata: %w", explainKind(err)))
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	return b.Watches(metadata, h, predicates...)
}

func (b *Builder[T, R]) watchesKind(
	prototype object.Object, h handler.Handler[object.Object, R], optional bool, predicates []predicate.Predicate,
) *Builder[T, R] {
	return b.watch(func() source.Source[R] {
		return source.Kind(b.manager.Cache(), prototype, h, slices.Concat(b.filters, predicates)...)
	}, optional)
}

func (b *Builder[T, R]) watch(declare func() source.Source[R], optional bool) *Builder[T, R] {
	b.watches = append(b.watches, func() (source.Source[R], error) {
		s := declare()
		if err := source.Failure(s); err != nil || !optional {
			return s, explainKind(err)
		}
		return source.Optional(s), nil
	})
	return b
}

// WatchesSource adds a source of requests of any kind, see package source.
func (b *Builder[T, R]) WatchesSource(s source.Source[R]) *Builder[T, R] {
	b.watches = append(b.watches, func() (source.Source[R], error) {
		if err := source.Failure(s); err != nil {
			return nil, fmt.Errorf("watch %s: %w", s, err)
		}
		return s, nil
	})
	return b
}

// Complete creates the controller and adds it to the manager. It returns the errors of all calls of the builder,
// joined; then the controller never reconciles. A controller without watches is an error.
func (b *Builder[T, R]) Complete(r reconcile.Reconciler[R]) error {
	_, err := b.build(r, false)
	return err
}

// Build is like [Builder.Complete], and returns the controller, for example for later calls of [Controller.Subscribe].
// A controller without watches is not an error.
func (b *Builder[T, R]) Build(r reconcile.Reconciler[R]) (*Controller[R], error) {
	return b.build(r, true)
}

// build implements Build and Complete. With watchesLater, a controller without watches is not an error.
func (b *Builder[T, R]) build(r reconcile.Reconciler[R], watchesLater bool) (*Controller[R], error) {
	if r == nil {
		b.fail(errors.New("the reconciler is nil"))
	}
	if m, chooses := b.manager.(interface{ Enabled(name string) bool }); chooses && len(b.errs) == 0 &&
		!m.Enabled(b.name) {
		return New(b.name, r, Options{Logger: b.manager.Logger()}), nil // the manager does not run this controller
	}
	sources, err := b.declare()
	if err == nil && len(sources) == 0 && !watchesLater {
		err = errors.New("nothing is watched, so it would never reconcile: call Watches or WatchesSource")
	}
	if err != nil {
		return nil, fmt.Errorf("controller %s: %w", b.name, err)
	}
	c := New(b.name, r, b.options())
	if c.limiter = b.limiter; c.limiter == nil && b.opts.RateLimiter != nil {
		c.limiter = any(b.opts.RateLimiter).(RateLimiter[R]) // declare has checked the type
	}
	if b.forKind {
		c.events.kind = b.kind.GroupKind().String()
	}
	for _, s := range sources {
		if err := c.Watch(s); err != nil {
			return nil, err
		}
	}
	if err := b.manager.Add(c); err != nil {
		return nil, err
	}
	if b.opts.WarmUp {
		if err := b.manager.Add(c.WarmUp()); err != nil {
			c.abandon()
			return nil, err
		}
	}
	return c, nil
}

// declare declares the watched kinds at the cache and returns all sources, unless a call of the builder has failed.
func (b *Builder[T, R]) declare() ([]source.Source[R], error) {
	if b.owning && !b.forKind {
		b.fail(errors.New("Owns needs a kind of owners: begin with For"))
	}
	if _, fits := any(b.opts.RateLimiter).(RateLimiter[R]); b.opts.RateLimiter != nil && !fits {
		b.fail(fmt.Errorf("Options.RateLimiter is for a reconcile.Request, not for %s: call WithRateLimiter",
			reflect.TypeFor[R]()))
	}
	if b.name == "" && len(b.errs) == 0 {
		b.fail(errors.New("nothing to reconcile: call For, or name the controller"))
	}
	if err := errors.Join(b.errs...); err != nil {
		return nil, err
	}
	var sources []source.Source[R]
	var errs []error
	for _, declare := range b.watches {
		s, err := declare()
		sources, errs = append(sources, s), append(errs, err)
	}
	return sources, errors.Join(errs...)
}

func (b *Builder[T, R]) options() Options {
	opts := b.opts
	m, ok := b.manager.(interface{ Concurrency(schema.GroupKind) int })
	if ok && b.forKind {
		opts.MaxConcurrentReconciles = cmp.Or(opts.MaxConcurrentReconciles, m.Concurrency(b.kind.GroupKind()))
	}
	opts.MaxConcurrentReconciles = cmp.Or(opts.MaxConcurrentReconciles, b.manager.MaxConcurrentReconciles())
	opts.Logger = cmp.Or(opts.Logger, b.manager.Logger())
	opts.Metrics = cmp.Or(opts.Metrics, b.manager.Metrics())
	return opts
}
