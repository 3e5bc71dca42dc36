package controller

import (
	"cmp"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/predicate"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/source"
)

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
			return s, err
		}
		return source.Optional(s), nil
	})
}

// watchMetadata adds the metadata of a kind to the plan.
func (p *plan[R]) watchMetadata(prototype object.Object, h handler.Handler[object.Object, R], predicates []predicate.Predicate[object.Object]) {
	gvk, err := object.GVK(prototype, p.manager.Scheme())
	if err != nil {
		p.fail(fmt.Errorf("watch metadata: %w", err))
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
	c.feeder.kind = p.kind
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
