// Package handler turns events into requests.
package handler

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

var (
	log        = logf.RuntimeLog.WithName("eventhandler").WithName("enqueueRequestForOwner")
	enqueueLog = logf.RuntimeLog.WithName("eventhandler").WithName("EnqueueRequestForObject")
)

// EventHandler turns events of objects of any type into requests for objects.
type EventHandler = TypedEventHandler[client.Object, reconcile.Request]

// TypedEventHandler adds requests for events to a queue. It must not modify the objects.
type TypedEventHandler[object any, request comparable] interface {
	// Create is called for new objects, and for objects that exist when the watch starts.
	Create(context.Context, event.TypedCreateEvent[object], workqueue.TypedRateLimitingInterface[request])
	// Update is called for changes.
	Update(context.Context, event.TypedUpdateEvent[object], workqueue.TypedRateLimitingInterface[request])
	// Delete is called for deletions.
	Delete(context.Context, event.TypedDeleteEvent[object], workqueue.TypedRateLimitingInterface[request])
	// Generic is called for other events, such as events from a channel.
	Generic(context.Context, event.TypedGenericEvent[object], workqueue.TypedRateLimitingInterface[request])
}

// Funcs implements [EventHandler] with functions.
type Funcs = TypedFuncs[client.Object, reconcile.Request]

// TypedFuncs implements [TypedEventHandler] with functions. Events without a function are ignored. Requests for objects
// that existed at the start, or are unchanged, have a low priority unless the function sets another one.
type TypedFuncs[object any, request comparable] struct {
	// CreateFunc is called for new objects.
	CreateFunc func(context.Context, event.TypedCreateEvent[object], workqueue.TypedRateLimitingInterface[request])
	// UpdateFunc is called for changes.
	UpdateFunc func(context.Context, event.TypedUpdateEvent[object], workqueue.TypedRateLimitingInterface[request])
	// DeleteFunc is called for deletions.
	DeleteFunc func(context.Context, event.TypedDeleteEvent[object], workqueue.TypedRateLimitingInterface[request])
	// GenericFunc is called for other events.
	GenericFunc func(context.Context, event.TypedGenericEvent[object], workqueue.TypedRateLimitingInterface[request])
}

var _ EventHandler = Funcs{}

// Create implements [TypedEventHandler].
func (h TypedFuncs[object, request]) Create(
	ctx context.Context, e event.TypedCreateEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	if h.CreateFunc != nil {
		h.CreateFunc(ctx, e, prioritized(q, isClientObject(e.Object), e.IsInInitialList))
	}
}

// Update implements [TypedEventHandler].
func (h TypedFuncs[object, request]) Update(
	ctx context.Context, e event.TypedUpdateEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	if h.UpdateFunc != nil {
		have := isClientObject(e.ObjectOld) && isClientObject(e.ObjectNew)
		h.UpdateFunc(ctx, e, prioritized(q, have, isUnchanged(e)))
	}
}

// Delete implements [TypedEventHandler].
func (h TypedFuncs[object, request]) Delete(
	ctx context.Context, e event.TypedDeleteEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	if h.DeleteFunc != nil {
		h.DeleteFunc(ctx, e, q)
	}
}

// Generic implements [TypedEventHandler].
func (h TypedFuncs[object, request]) Generic(
	ctx context.Context, e event.TypedGenericEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	if h.GenericFunc != nil {
		h.GenericFunc(ctx, e, q)
	}
}

// LowPriority is the priority of requests for unchanged objects.
const LowPriority = -100

// WithLowPriorityWhenUnchanged returns a handler like u that gives requests for unchanged objects a low priority.
func WithLowPriorityWhenUnchanged[object client.Object, request comparable](
	u TypedEventHandler[object, request],
) TypedEventHandler[object, request] {
	return TypedFuncs[object, request]{
		CreateFunc: u.Create, UpdateFunc: u.Update, DeleteFunc: u.Delete, GenericFunc: u.Generic,
	}
}

// isClientObject reports whether o is an object with metadata.
func isClientObject(o any) bool {
	_, ok := o.(client.Object)
	return ok && !isNil(o)
}

// isUnchanged reports whether an update contains the same object twice.
func isUnchanged[object any](e event.TypedUpdateEvent[object]) bool {
	if !isClientObject(e.ObjectOld) || !isClientObject(e.ObjectNew) {
		return false
	}
	return any(e.ObjectOld).(client.Object).GetResourceVersion() == any(e.ObjectNew).(client.Object).GetResourceVersion()
}

// prioritized returns q with a default priority, if q supports priorities.
func prioritized[request comparable](
	q workqueue.TypedRateLimitingInterface[request], applies, low bool,
) workqueue.TypedRateLimitingInterface[request] {
	priorities, ok := q.(priorityqueue.PriorityQueue[request])
	if !ok || !applies {
		return q
	}
	if !low {
		return defaulting[request]{priorities, nil}
	}
	return defaulting[request]{priorities, new(LowPriority)}
}

// defaulting is a queue with a default priority.
type defaulting[request comparable] struct {
	priorityqueue.PriorityQueue[request]
	priority *int
}

func (d defaulting[request]) AddWithOpts(o priorityqueue.AddOpts, items ...request) {
	if o.Priority == nil {
		o.Priority = d.priority
	}
	d.PriorityQueue.AddWithOpts(o, items...)
}

func (d defaulting[request]) Add(item request) { d.AddWithOpts(priorityqueue.AddOpts{}, item) }

func (d defaulting[request]) AddAfter(item request, after time.Duration) {
	d.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

func (d defaulting[request]) AddRateLimited(item request) {
	d.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// EnqueueRequestForObject adds a request for the object of the event.
type EnqueueRequestForObject = TypedEnqueueRequestForObject[client.Object]

// TypedEnqueueRequestForObject is like [EnqueueRequestForObject], for objects of one type.
type TypedEnqueueRequestForObject[object client.Object] struct{}

var _ EventHandler = &EnqueueRequestForObject{}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

// Create implements [TypedEventHandler].
func (e *TypedEnqueueRequestForObject[T]) Create(
	_ context.Context, evt event.TypedCreateEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if isNil(evt.Object) {
		enqueueLog.Error(nil, "CreateEvent received with no metadata", "event", evt)
		return
	}
	add(q, requestFor(evt.Object), evt.IsInInitialList)
}

// Update implements [TypedEventHandler].
func (e *TypedEnqueueRequestForObject[T]) Update(
	_ context.Context, evt event.TypedUpdateEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	switch {
	case !isNil(evt.ObjectNew):
		add(q, requestFor(evt.ObjectNew), isUnchanged(evt))
	case !isNil(evt.ObjectOld):
		add(q, requestFor(evt.ObjectOld), false)
	default:
		enqueueLog.Error(nil, "UpdateEvent received with no metadata", "event", evt)
	}
}

// Delete implements [TypedEventHandler].
func (e *TypedEnqueueRequestForObject[T]) Delete(
	_ context.Context, evt event.TypedDeleteEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if isNil(evt.Object) {
		enqueueLog.Error(nil, "DeleteEvent received with no metadata", "event", evt)
		return
	}
	q.Add(requestFor(evt.Object))
}

// Generic implements [TypedEventHandler].
func (e *TypedEnqueueRequestForObject[T]) Generic(
	_ context.Context, evt event.TypedGenericEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	if isNil(evt.Object) {
		enqueueLog.Error(nil, "GenericEvent received with no metadata", "event", evt)
		return
	}
	q.Add(requestFor(evt.Object))
}

// add adds an item, with a low priority if low is set and the queue supports priorities.
func add[request comparable](q workqueue.TypedRateLimitingInterface[request], item request, low bool) {
	priorities, ok := q.(priorityqueue.PriorityQueue[request])
	switch {
	case !ok:
		q.Add(item)
	case low:
		priorities.AddWithOpts(priorityqueue.AddOpts{Priority: new(LowPriority)}, item)
	default:
		priorities.AddWithOpts(priorityqueue.AddOpts{}, item)
	}
}

// MapFunc returns the requests for an event of an object of any type.
type MapFunc = TypedMapFunc[client.Object, reconcile.Request]

// TypedMapFunc returns the requests for an event of an object.
type TypedMapFunc[object any, request comparable] func(context.Context, object) []request

// EnqueueRequestsFromMapFunc adds the requests that fn returns for the object of the event, or for both objects of an
// update.
func EnqueueRequestsFromMapFunc(fn MapFunc) EventHandler { return TypedEnqueueRequestsFromMapFunc(fn) }

// TypedEnqueueRequestsFromMapFunc is like [EnqueueRequestsFromMapFunc], for objects and requests of any type.
func TypedEnqueueRequestsFromMapFunc[object any, request comparable](
	fn TypedMapFunc[object, request],
) TypedEventHandler[object, request] {
	return mapped[object, request]{fn}
}

type mapped[object any, request comparable] struct{ requests TypedMapFunc[object, request] }

// enqueue adds the requests for objects, without duplicates.
func (m mapped[object, request]) enqueue(
	ctx context.Context, q workqueue.TypedRateLimitingInterface[request], low bool, objects ...object,
) {
	added := map[request]struct{}{}
	for _, o := range objects {
		for _, r := range m.requests(ctx, o) {
			if _, twice := added[r]; twice {
				continue
			}
			added[r] = struct{}{}
			if low {
				add(q, r, true)
			} else {
				q.Add(r)
			}
		}
	}
}

func (m mapped[object, request]) Create(
	ctx context.Context, e event.TypedCreateEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, q, isClientObject(e.Object) && e.IsInInitialList, e.Object)
}

func (m mapped[object, request]) Update(
	ctx context.Context, e event.TypedUpdateEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, q, isUnchanged(e), e.ObjectOld, e.ObjectNew)
}

func (m mapped[object, request]) Delete(
	ctx context.Context, e event.TypedDeleteEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, q, false, e.Object)
}

func (m mapped[object, request]) Generic(
	ctx context.Context, e event.TypedGenericEvent[object], q workqueue.TypedRateLimitingInterface[request],
) {
	m.enqueue(ctx, q, false, e.Object)
}

// OwnerOption changes a handler of [EnqueueRequestForOwner].
type OwnerOption func(e ownerHandler)

type ownerHandler interface{ onlyController() }

// OnlyControllerOwner selects only the controlling owner.
func OnlyControllerOwner() OwnerOption { return func(e ownerHandler) { e.onlyController() } }

// EnqueueRequestForOwner adds requests for the owners of the object that have the kind of ownerType. It panics unless
// scheme has exactly one kind for ownerType.
func EnqueueRequestForOwner(
	scheme *runtime.Scheme, mapper meta.RESTMapper, ownerType client.Object, opts ...OwnerOption,
) EventHandler {
	return TypedEnqueueRequestForOwner[client.Object](scheme, mapper, ownerType, opts...)
}

// TypedEnqueueRequestForOwner is like [EnqueueRequestForOwner], for objects of one type.
func TypedEnqueueRequestForOwner[object client.Object](
	scheme *runtime.Scheme, mapper meta.RESTMapper, ownerType client.Object, opts ...OwnerOption,
) TypedEventHandler[object, reconcile.Request] {
	kinds, _, err := scheme.ObjectKinds(ownerType)
	if err != nil {
		log.Error(err, "Could not get ObjectKinds for OwnerType", "owner type", fmt.Sprintf("%T", ownerType))
		panic(err)
	}
	if len(kinds) != 1 {
		err := fmt.Errorf("expected exactly 1 kind for OwnerType %T, but found %s kinds", ownerType, kinds)
		log.Error(nil, "expected exactly 1 kind for OwnerType", "owner type", fmt.Sprintf("%T", ownerType), "kinds", kinds)
		panic(err)
	}
	owners := &owned[object]{kind: kinds[0].GroupKind(), mapper: mapper}
	for _, opt := range opts {
		opt(owners)
	}
	return WithLowPriorityWhenUnchanged[object, reconcile.Request](owners)
}

// owned adds requests for owners of a kind.
type owned[object client.Object] struct {
	kind           schema.GroupKind
	mapper         meta.RESTMapper
	controllerOnly bool
}

func (o *owned[object]) onlyController() { o.controllerOnly = true }

func (o *owned[object]) enqueue(q workqueue.TypedRateLimitingInterface[reconcile.Request], objects ...object) {
	added := map[reconcile.Request]struct{}{}
	for _, obj := range objects {
		if isNil(obj) {
			continue
		}
		for _, ref := range o.owners(obj) {
			request, ok := o.request(obj, ref)
			if _, twice := added[request]; !ok || twice {
				continue
			}
			added[request] = struct{}{}
			q.Add(request)
		}
	}
}

// owners returns the selected owners of obj: all owners, or the controlling one.
func (o *owned[object]) owners(obj object) []metav1.OwnerReference {
	if !o.controllerOnly {
		return obj.GetOwnerReferences()
	}
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return []metav1.OwnerReference{*ref}
	}
	return nil
}

// request returns the request for an owner if it has the kind.
func (o *owned[object]) request(obj object, ref metav1.OwnerReference) (request reconcile.Request, ok bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		log.Error(err, "Could not parse OwnerReference APIVersion", "api version", ref.APIVersion)
		return request, false
	}
	if ref.Kind != o.kind.Kind || gv.Group != o.kind.Group {
		return request, false
	}
	mapping, err := o.mapper.RESTMapping(o.kind, gv.Version)
	if err != nil {
		log.Error(err, "Could not retrieve rest mapping", "kind", o.kind)
		return request, false
	}
	request.Name = ref.Name
	if mapping.Scope.Name() != meta.RESTScopeNameRoot {
		request.Namespace = obj.GetNamespace()
	}
	return request, true
}

func (o *owned[object]) Create(
	_ context.Context, e event.TypedCreateEvent[object], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	o.enqueue(q, e.Object)
}

func (o *owned[object]) Update(
	_ context.Context, e event.TypedUpdateEvent[object], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	o.enqueue(q, e.ObjectOld, e.ObjectNew)
}

func (o *owned[object]) Delete(
	_ context.Context, e event.TypedDeleteEvent[object], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	o.enqueue(q, e.Object)
}

func (o *owned[object]) Generic(
	_ context.Context, e event.TypedGenericEvent[object], q workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	o.enqueue(q, e.Object)
}

func isNil(o any) bool {
	v := reflect.ValueOf(o)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
