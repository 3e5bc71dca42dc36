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

type EventHandler interface {
	Create(context.Context, event.CreateEvent, Queue)
	Update(context.Context, event.UpdateEvent, Queue)
	Delete(context.Context, event.DeleteEvent, Queue)
	Generic(context.Context, event.GenericEvent, Queue)
}

type MapFunc func(context.Context, client.Object) []reconcile.Request

func EnqueueRequestsFromMapFunc(f MapFunc) EventHandler { return nil }

type EnqueueRequestForObject struct{}

func (EnqueueRequestForObject) Create(context.Context, event.CreateEvent, Queue)   {}
func (EnqueueRequestForObject) Update(context.Context, event.UpdateEvent, Queue)   {}
func (EnqueueRequestForObject) Delete(context.Context, event.DeleteEvent, Queue)   {}
func (EnqueueRequestForObject) Generic(context.Context, event.GenericEvent, Queue) {}

type OwnerOption func()

func OnlyControllerOwner() OwnerOption { return nil }

func EnqueueRequestForOwner(scheme *runtime.Scheme, mapper any, owner client.Object, opts ...OwnerOption) EventHandler {
	return nil
}
