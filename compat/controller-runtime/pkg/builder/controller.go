// Package builder builds controllers and webhooks.
package builder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

var log = logf.RuntimeLog.WithName("builder")

// Builder builds a controller for objects.
type Builder = TypedBuilder[reconcile.Request]

// TypedBuilder builds a controller for requests of any type.
type TypedBuilder[request comparable] struct {
	mgr     manager.Manager
	name    string
	options controller.TypedOptions[request]
	forKind *ForInput // nil if unset
	owns    []OwnsInput
	watches []WatchesInput[request]
	sources []source.TypedSource[request]
	filters []predicate.Predicate
	err     error
}

// ControllerManagedBy returns a builder of a controller that m runs.
func ControllerManagedBy(m manager.Manager) *Builder {
	return TypedControllerManagedBy[reconcile.Request](m)
}

// TypedControllerManagedBy is like [ControllerManagedBy], for requests of any type.
func TypedControllerManagedBy[request comparable](m manager.Manager) *TypedBuilder[request] {
	return &TypedBuilder[request]{mgr: m}
}

// input is a watched kind.
type input struct {
	object       client.Object
	predicates   []predicate.Predicate
	metadataOnly bool
}

// ForInput is the kind that a controller reconciles.
type ForInput struct{ input }

// OwnsInput is a kind of owned objects.
type OwnsInput struct {
	input
	everyOwner bool
}

// WatchesInput is a kind with a handler.
type WatchesInput[request comparable] struct {
	input
	handler handler.TypedEventHandler[client.Object, request]
}

// For sets the kind that the controller reconciles. Call it once.
func (blder *TypedBuilder[request]) For(object client.Object, opts ...ForOption) *TypedBuilder[request] {
	if blder.forKind != nil {
		blder.err = errors.New("For(...) should only be called once, could not assign multiple objects for reconciliation")
		return blder
	}
	blder.forKind = &ForInput{input{object: object}}
	for _, opt := range opts {
		opt.ApplyToFor(blder.forKind)
	}
	return blder
}

// Owns watches a kind of owned objects. When such an object changes, its controlling owner is reconciled.
func (blder *TypedBuilder[request]) Owns(object client.Object, opts ...OwnsOption) *TypedBuilder[request] {
	owned := OwnsInput{input: input{object: object}}
	for _, opt := range opts {
		opt.ApplyToOwns(&owned)
	}
	blder.owns = append(blder.owns, owned)
	return blder
}

// Watches calls a handler, which adds requests, when objects of a kind change.
func (blder *TypedBuilder[request]) Watches(
	object client.Object, eventHandler handler.TypedEventHandler[client.Object, request], opts ...WatchesOption,
) *TypedBuilder[request] {
	watched := WatchesInput[request]{input{object: object}, eventHandler}
	for _, opt := range opts {
		opt.ApplyToWatches(&watched)
	}
	blder.watches = append(blder.watches, watched)
	return blder
}

// WatchesMetadata is like Watches, but watches only the metadata.
func (blder *TypedBuilder[request]) WatchesMetadata(
	object client.Object, eventHandler handler.TypedEventHandler[client.Object, request], opts ...WatchesOption,
) *TypedBuilder[request] {
	return blder.Watches(object, eventHandler, append(slices.Clip(opts), OnlyMetadata)...)
}

// WatchesRawSource adds a source.
func (blder *TypedBuilder[request]) WatchesRawSource(src source.TypedSource[request]) *TypedBuilder[request] {
	blder.sources = append(blder.sources, src)
	return blder
}

// WithEventFilter filters the events of all kinds, but not the events of raw sources.
func (blder *TypedBuilder[request]) WithEventFilter(p predicate.Predicate) *TypedBuilder[request] {
	blder.filters = append(blder.filters, p)
	return blder
}

// WithOptions sets the options of the controller.
func (blder *TypedBuilder[request]) WithOptions(options controller.TypedOptions[request]) *TypedBuilder[request] {
	blder.options = options
	return blder
}

// WithLogConstructor sets the function that creates the loggers of reconciles.
func (blder *TypedBuilder[request]) WithLogConstructor(
	logConstructor func(*request) logr.Logger,
) *TypedBuilder[request] {
	blder.options.LogConstructor = logConstructor
	return blder
}

// Named sets the name. The default is the kind in lower case.
func (blder *TypedBuilder[request]) Named(name string) *TypedBuilder[request] {
	blder.name = name
	return blder
}

// Complete builds the controller and adds it to the manager.
func (blder *TypedBuilder[request]) Complete(r reconcile.TypedReconciler[request]) error {
	_, err := blder.Build(r)
	return err
}

// Build is like Complete, but also returns the controller.
func (blder *TypedBuilder[request]) Build(
	r reconcile.TypedReconciler[request],
) (controller.TypedController[request], error) {
	switch {
	case r == nil:
		return nil, errors.New("must provide a non-nil Reconciler")
	case blder.mgr == nil:
		return nil, errors.New("must provide a non-nil Manager")
	case blder.err != nil:
		return nil, blder.err
	}
	c, err := blder.newController(r)
	if err != nil {
		return nil, err
	}
	sources, err := blder.allSources()
	if err != nil {
		return nil, err
	}
	for _, src := range sources {
		if err := c.Watch(src); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (blder *TypedBuilder[request]) newController(
	r reconcile.TypedReconciler[request],
) (controller.TypedController[request], error) {
	options, defaults := blder.options, blder.mgr.GetControllerOptions()
	if options.Reconciler != nil {
		return nil, errors.New("reconciler was set via WithOptions() and via Build() or Complete()")
	}
	options.Reconciler = r
	var gvk schema.GroupVersionKind
	if blder.forKind != nil {
		var err error
		if gvk, err = apiutil.GVKForObject(blder.forKind.object, blder.mgr.GetScheme()); err != nil {
			return nil, err
		}
		if options.MaxConcurrentReconciles == 0 {
			options.MaxConcurrentReconciles = max(0, defaults.GroupKindConcurrency[gvk.GroupKind().String()])
		}
	}
	name := blder.name
	if name == "" {
		if name = strings.ToLower(gvk.Kind); name == "" {
			return nil, errors.New("one of For() or Named() must be called")
		}
	}
	if options.LogConstructor == nil {
		options.LogConstructor = logConstructor[request](blder.mgr.GetLogger(), name, gvk)
	}
	return controller.NewTyped(name, blder.mgr, options)
}

// logConstructor returns the function that creates the loggers of a controller and its reconciles. gvk may be empty.
func logConstructor[request comparable](
	logger logr.Logger, name string, gvk schema.GroupVersionKind,
) func(*request) logr.Logger {
	logger = logger.WithValues("controller", name)
	if !gvk.Empty() {
		logger = logger.WithValues("controllerGroup", gvk.Group, "controllerKind", gvk.Kind)
	}
	return func(in *request) logr.Logger {
		req, ok := any(in).(*reconcile.Request)
		if !ok || req == nil {
			return logger
		}
		values := []any{"namespace", req.Namespace, "name", req.Name}
		if !gvk.Empty() {
			values = append([]any{gvk.Kind, klog.KRef(req.Namespace, req.Name)}, values...)
		}
		return logger.WithValues(values...)
	}
}

// allSources returns the sources in the order For, Owns, Watches, and raw sources.
func (blder *TypedBuilder[request]) allSources() (all []source.TypedSource[request], err error) {
	if blder.forKind == nil && len(blder.owns) > 0 {
		return nil, errors.New("Owns() can only be used together with For()")
	}
	if blder.forKind == nil && len(blder.watches)+len(blder.sources) == 0 {
		return nil, errors.New("there are no watches configured, controller will never get triggered. " +
			"Use For(), Owns(), Watches() or WatchesRawSource() to set them up")
	}
	if blder.forKind != nil {
		forObject, ok := any(&handler.EnqueueRequestForObject{}).(handler.TypedEventHandler[client.Object, request])
		if !ok {
			return nil, fmt.Errorf("For() can only be used with reconcile.Request, got %T", *new(request))
		}
		if all, err = blder.watch(all, blder.forKind.input, forObject); err != nil {
			return nil, err
		}
	}
	for _, owned := range blder.owns {
		if all, err = blder.watch(all, owned.input, blder.ownerHandler(owned)); err != nil {
			return nil, err
		}
	}
	for _, watched := range blder.watches {
		if all, err = blder.watch(all, watched.input, watched.handler); err != nil {
			return nil, fmt.Errorf("failed to project for %T: %w", watched.object, err)
		}
	}
	return append(all, blder.sources...), nil
}

// ownerHandler returns the handler of an owned kind. Its requests identify objects, because Owns can only be used with
// For.
func (blder *TypedBuilder[request]) ownerHandler(owned OwnsInput) handler.TypedEventHandler[client.Object, request] {
	var opts []handler.OwnerOption
	if !owned.everyOwner {
		opts = append(opts, handler.OnlyControllerOwner())
	}
	h := handler.EnqueueRequestForOwner(blder.mgr.GetScheme(), blder.mgr.GetRESTMapper(), blder.forKind.object, opts...)
	return any(h).(handler.TypedEventHandler[client.Object, request])
}

// watch adds the source of a kind to all.
func (blder *TypedBuilder[request]) watch(
	all []source.TypedSource[request], in input, h handler.TypedEventHandler[client.Object, request],
) ([]source.TypedSource[request], error) {
	object := in.object
	if in.metadataOnly {
		gvk, err := apiutil.GVKForObject(object, blder.mgr.GetScheme())
		if err != nil {
			return nil, fmt.Errorf("unable to determine GVK of %T for a metadata-only watch: %w", object, err)
		}
		metadata := &metav1.PartialObjectMetadata{}
		metadata.SetGroupVersionKind(gvk)
		object = metadata
	}
	predicates := slices.Concat(blder.filters, in.predicates)
	return append(all, source.TypedKind(blder.mgr.GetCache(), object, h, predicates...)), nil
}
