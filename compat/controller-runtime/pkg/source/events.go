package source

import (
	"context"
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// events passes the events that pass all predicates to a handler.
type events[object any, request comparable] struct {
	handler    handler.TypedEventHandler[object, request]
	predicates []predicate.TypedPredicate[object]
}

func (e events[object, request]) create(
	ctx context.Context, evt event.TypedCreateEvent[object], queue workqueue.TypedRateLimitingInterface[request],
) {
	for _, p := range e.predicates {
		if !p.Create(evt) {
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.handler.Create(ctx, evt, queue)
}

func (e events[object, request]) update(
	ctx context.Context, evt event.TypedUpdateEvent[object], queue workqueue.TypedRateLimitingInterface[request],
) {
	for _, p := range e.predicates {
		if !p.Update(evt) {
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.handler.Update(ctx, evt, queue)
}

func (e events[object, request]) remove(
	ctx context.Context, evt event.TypedDeleteEvent[object], queue workqueue.TypedRateLimitingInterface[request],
) {
	for _, p := range e.predicates {
		if !p.Delete(evt) {
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.handler.Delete(ctx, evt, queue)
}

func (e events[object, request]) generic(
	ctx context.Context, evt event.TypedGenericEvent[object], queue workqueue.TypedRateLimitingInterface[request],
) {
	for _, p := range e.predicates {
		if !p.Generic(evt) {
			return
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e.handler.Generic(ctx, evt, queue)
}

// into returns a handler for client-go's informers.
func (e events[object, request]) into(
	ctx context.Context, queue workqueue.TypedRateLimitingInterface[request],
) toolscache.ResourceEventHandler {
	return informed[object, request]{e, ctx, queue}
}

// informed is a toolscache.ResourceEventHandler.
type informed[object any, request comparable] struct {
	to    events[object, request]
	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[request]
}

var logEvents = logf.RuntimeLog.WithName("source").WithName("EventHandler")

// OnAdd implements toolscache.ResourceEventHandler.
func (i informed[object, request]) OnAdd(obj any, isInInitialList bool) {
	o, ok := obj.(object)
	if !ok {
		logEvents.Error(nil, "OnAdd missing Object", "object", obj, "type", fmt.Sprintf("%T", obj))
		return
	}
	i.to.create(i.ctx, event.TypedCreateEvent[object]{Object: o, IsInInitialList: isInInitialList}, i.queue)
}

// OnUpdate implements toolscache.ResourceEventHandler.
func (i informed[object, request]) OnUpdate(oldObj, newObj any) {
	before, ok := oldObj.(object)
	if !ok {
		logEvents.Error(nil, "OnUpdate missing ObjectOld", "object", oldObj, "type", fmt.Sprintf("%T", oldObj))
		return
	}
	after, ok := newObj.(object)
	if !ok {
		logEvents.Error(nil, "OnUpdate missing ObjectNew", "object", newObj, "type", fmt.Sprintf("%T", newObj))
		return
	}
	i.to.update(i.ctx, event.TypedUpdateEvent[object]{ObjectOld: before, ObjectNew: after}, i.queue)
}

// OnDelete implements toolscache.ResourceEventHandler.
func (i informed[object, request]) OnDelete(obj any) {
	var evt event.TypedDeleteEvent[object]
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj, evt.DeleteStateUnknown = tombstone.Obj, true
	}
	var ok bool
	if evt.Object, ok = obj.(object); !ok {
		logEvents.Error(nil, "OnDelete missing Object", "object", obj, "type", fmt.Sprintf("%T", obj))
		return
	}
	i.to.remove(i.ctx, evt, i.queue)
}
