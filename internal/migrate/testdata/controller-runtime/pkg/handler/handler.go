package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type TypedEventHandler[object any, request comparable] interface {
	Create(context.Context, event.TypedCreateEvent[object], workqueue.TypedRateLimitingInterface[request])
	Update(context.Context, event.TypedUpdateEvent[object], workqueue.TypedRateLimitingInterface[request])
	Delete(context.Context, event.TypedDeleteEvent[object], workqueue.TypedRateLimitingInterface[request])
	Generic(context.Context, event.TypedGenericEvent[object], workqueue.TypedRateLimitingInterface[request])
}

type EventHandler = TypedEventHandler[client.Object, reconcile.Request]

type MapFunc = TypedMapFunc[client.Object, reconcile.Request]

func EnqueueRequestsFromMapFunc(f MapFunc) EventHandler { return nil }

type TypedEnqueueRequestForObject[object client.Object] struct{}

func (TypedEnqueueRequestForObject[T]) Create(context.Context, event.TypedCreateEvent[T], Queue)   {}
func (TypedEnqueueRequestForObject[T]) Update(context.Context, event.TypedUpdateEvent[T], Queue)   {}
func (TypedEnqueueRequestForObject[T]) Delete(context.Context, event.TypedDeleteEvent[T], Queue)   {}
func (TypedEnqueueRequestForObject[T]) Generic(context.Context, event.TypedGenericEvent[T], Queue) {}

type EnqueueRequestForObject = TypedEnqueueRequestForObject[client.Object]

type TypedMapFunc[object any, request comparable] func(context.Context, object) []request

func TypedEnqueueRequestsFromMapFunc[object any, request comparable](fn TypedMapFunc[object, request]) TypedEventHandler[object, request] {
	return nil
}

type TypedFuncs[object any, request comparable] struct {
	CreateFunc  func(context.Context, event.TypedCreateEvent[object], workqueue.TypedRateLimitingInterface[request])
	UpdateFunc  func(context.Context, event.TypedUpdateEvent[object], workqueue.TypedRateLimitingInterface[request])
	DeleteFunc  func(context.Context, event.TypedDeleteEvent[object], workqueue.TypedRateLimitingInterface[request])
	GenericFunc func(context.Context, event.TypedGenericEvent[object], workqueue.TypedRateLimitingInterface[request])
}

func (TypedFuncs[T, R]) Create(context.Context, event.TypedCreateEvent[T], workqueue.TypedRateLimitingInterface[R]) {
}

func (TypedFuncs[T, R]) Update(context.Context, event.TypedUpdateEvent[T], workqueue.TypedRateLimitingInterface[R]) {
}

func (TypedFuncs[T, R]) Delete(context.Context, event.TypedDeleteEvent[T], workqueue.TypedRateLimitingInterface[R]) {
}

func (TypedFuncs[T, R]) Generic(context.Context, event.TypedGenericEvent[T], workqueue.TypedRateLimitingInterface[R]) {
}

type Funcs = TypedFuncs[client.Object, reconcile.Request]

func WithLowPriorityWhenUnchanged[object client.Object, request comparable](h TypedEventHandler[object, request]) TypedEventHandler[object, request] {
	return h
}

type OwnerOption func()

func OnlyControllerOwner() OwnerOption { return nil }

func EnqueueRequestForOwner(scheme *runtime.Scheme, mapper any, owner client.Object, opts ...OwnerOption) EventHandler {
	return nil
}
