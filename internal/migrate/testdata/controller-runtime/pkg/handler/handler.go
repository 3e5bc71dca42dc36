package handler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type Queue interface{ Add(reconcile.Request) }

type EventHandler interface {
	Create(context.Context, event.CreateEvent, Queue)
}

type MapFunc func(context.Context, client.Object) []reconcile.Request

func EnqueueRequestsFromMapFunc(f MapFunc) EventHandler { return nil }

type EnqueueRequestForObject struct{}

func (EnqueueRequestForObject) Create(context.Context, event.CreateEvent, Queue) {}

type OwnerOption func()

func OnlyControllerOwner() OwnerOption { return nil }

func EnqueueRequestForOwner(scheme *runtime.Scheme, mapper any, owner client.Object, opts ...OwnerOption) EventHandler {
	return nil
}
