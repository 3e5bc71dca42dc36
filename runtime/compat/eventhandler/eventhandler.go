// Package eventhandler has handlers of events as types with four methods, for operators that were migrated from
// controller-runtime, and queues of client-go for their tests. New code writes a function, see package handler.
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

// Events is a handler as four methods, one for each thing that may happen to an object. [Of] makes a Handler of it.
type Events[T object.Object, R comparable] interface {
	Create(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
	Update(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
	Delete(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
	Generic(ctx context.Context, e informer.Event[T], queue handler.Queue[R])
}

// Of is a handler that calls the method of h that is for the type of the event: Create for an Added one, Update for
// an Updated one, Delete for a Deleted one, and Generic for all others, such as those of a resync and of channels.
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

// EnqueueRequestForObject is [Events] that request the object of the event, as [handler.ForObject] does, for types
// that embed it and do more.
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

// Funcs is [Events] of functions, for objects of any Go type. What has none is left out.
type Funcs = FuncsOf[object.Object, reconcile.Request]

// FuncsOf is [Events] of functions, for objects of one Go type and requests of any. What has none is left out.
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

// RateLimited is a queue with the methods by which client-go's workqueue.TypedRateLimitingInterface is added to.
type RateLimited[R comparable] interface {
	Add(request R)
	AddAfter(request R, d time.Duration)
	AddRateLimited(request R)
}

// QueueOf is a queue that adds to q: by AddRateLimited what is to back off, by AddAfter what is to wait, and all else
// by Add. It is for queues of other programs, such as one that records in a test what a handler asks for. Priorities
// are left out.
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
