// Package eventhandler has event handlers in the form of controller-runtime, as types with four methods, for migrated
// operators, and an adapter for client-go queues in their tests. New code should use a function, see package handler.
package eventhandler

import (
	"context"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// Events is a handler with one method per type of event. [Of] converts it to a Handler.
type Events[T object.Object, R comparable] interface {
	Create(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
	Update(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
	Delete(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
	Generic(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
}

// Of returns a handler that calls the method of h for the type of the event: Create for Added, Update for Updated,
// Delete for Deleted, and Generic for all others, such as resyncs and events of channels.
func Of[T object.Object, R comparable](h Events[T, R]) handler.Handler[T, R] {
	return func(ctx context.Context, e informer.Event[T], queue handler.Queue[R]) {
		switch e.Type {
		case informer.Added:
			h.Create(ctx, e, queue)
		case informer.Updated:
			h.Update(ctx, e, queue)
		case informer.Deleted:
			h.Delete(ctx, e, queue)
		default:
			h.Generic(ctx, e, queue)
		}
	}
}

// EnqueueRequestForObject implements [Events]: it requests the object of the event, as [handler.ForObject] does. It is
// for types that embed it and add methods.
type EnqueueRequestForObject = TypedEnqueueRequestForObject[object.Object]

// TypedEnqueueRequestForObject is [EnqueueRequestForObject] for objects of one Go type. The zero value is ready for
// use.
type TypedEnqueueRequestForObject[T object.Object] struct{}

// Create implements Events.
func (TypedEnqueueRequestForObject[T]) Create(
	ctx context.Context, e informer.Event[T], queue handler.Queue[reconcile.Request],
) {
	handler.ForObject[T]()(ctx, e, queue)
}

// Update implements Events.
func (TypedEnqueueRequestForObject[T]) Update(
	ctx context.Context, e informer.Event[T], queue handler.Queue[reconcile.Request],
) {
	handler.ForObject[T]()(ctx, e, queue)
}

// Delete implements Events.
func (TypedEnqueueRequestForObject[T]) Delete(
	ctx context.Context, e informer.Event[T], queue handler.Queue[reconcile.Request],
) {
	handler.ForObject[T]()(ctx, e, queue)
}

// Generic implements Events.
func (TypedEnqueueRequestForObject[T]) Generic(
	ctx context.Context, e informer.Event[T], queue handler.Queue[reconcile.Request],
) {
	handler.ForObject[T]()(ctx, e, queue)
}

// Funcs implements [Events] with functions, for objects of any Go type. Events without a function are ignored.
type Funcs = FuncsOf[object.Object, reconcile.Request]

// FuncsOf implements [Events] with functions, for objects of type T and requests of type R. Events without a function
// are ignored.
type FuncsOf[T object.Object, R comparable] struct {
	CreateFunc, UpdateFunc, DeleteFunc, GenericFunc func(context.Context, informer.Event[T], handler.Queue[R])
}

// Create implements Events.
func (f FuncsOf[T, R]) Create(ctx context.Context, e informer.Event[T], queue handler.Queue[R]) {
	callIfSet(f.CreateFunc, ctx, e, queue)
}

// Update implements Events.
func (f FuncsOf[T, R]) Update(ctx context.Context, e informer.Event[T], queue handler.Queue[R]) {
	callIfSet(f.UpdateFunc, ctx, e, queue)
}

// Delete implements Events.
func (f FuncsOf[T, R]) Delete(ctx context.Context, e informer.Event[T], queue handler.Queue[R]) {
	callIfSet(f.DeleteFunc, ctx, e, queue)
}

// Generic implements Events.
func (f FuncsOf[T, R]) Generic(ctx context.Context, e informer.Event[T], queue handler.Queue[R]) {
	callIfSet(f.GenericFunc, ctx, e, queue)
}

func callIfSet[T object.Object, R comparable](
	f handler.Handler[T, R], ctx context.Context, e informer.Event[T], queue handler.Queue[R],
) {
	if f != nil {
		f(ctx, e, queue)
	}
}

// RateLimited has the methods with which client-go's workqueue.TypedRateLimitingInterface accepts items.
type RateLimited[R comparable] interface {
	Add(request R)
	AddAfter(request R, d time.Duration)
	AddRateLimited(request R)
}

// QueueOf returns a queue that adds to q: by AddRateLimited with a backoff, by AddAfter with a delay, and by Add
// otherwise. It is for foreign queues, such as a queue that records a handler's requests in a test. Priorities are
// ignored.
func QueueOf[R comparable](q RateLimited[R]) handler.Queue[R] { return foreign[R]{q} }

type foreign[R comparable] struct{ to RateLimited[R] }

func (f foreign[R]) Add(requests ...R) { f.AddWith(workqueue.AddOptions{}, requests...) }

func (f foreign[R]) AddAfter(request R, d time.Duration) {
	f.AddWith(workqueue.AddOptions{After: d}, request)
}

func (f foreign[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	for _, request := range requests {
		switch {
		case o.RateLimited:
			f.to.AddRateLimited(request)
		case o.After > 0:
			f.to.AddAfter(request, o.After)
		default:
			f.to.Add(request)
		}
	}
}
