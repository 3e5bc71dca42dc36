package library

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Instrumented requests the object, and counts.
type Instrumented[T client.Object] struct {
	handler.TypedEnqueueRequestForObject[T]
}

// Create implements EventHandler.
func (h Instrumented[T]) Create(ctx context.Context, e event.TypedCreateEvent[T], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	h.TypedEnqueueRequestForObject.Create(ctx, e, q)
}

// Ticks returns a source.
func Ticks() source.Source {
	return source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error { return nil })
}

// Unpaused lets pass what is not paused.
func Unpaused() predicate.Funcs { return predicate.Funcs{} }

// Quiet does nothing.
func Quiet() handler.Funcs { return handler.Funcs{} }

// Enqueue returns a handler.
func Enqueue(name string) handler.EventHandler { return &handler.EnqueueRequestForObject{} }
