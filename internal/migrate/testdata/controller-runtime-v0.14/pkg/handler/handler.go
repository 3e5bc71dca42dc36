// Package handler has the signatures of controller-runtime's.
package handler

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type EventHandler interface {
	Create(event.CreateEvent, workqueue.RateLimitingInterface)
	Update(event.UpdateEvent, workqueue.RateLimitingInterface)
	Delete(event.DeleteEvent, workqueue.RateLimitingInterface)
	Generic(event.GenericEvent, workqueue.RateLimitingInterface)
}

type Funcs struct {
	CreateFunc  func(event.CreateEvent, workqueue.RateLimitingInterface)
	UpdateFunc  func(event.UpdateEvent, workqueue.RateLimitingInterface)
	DeleteFunc  func(event.DeleteEvent, workqueue.RateLimitingInterface)
	GenericFunc func(event.GenericEvent, workqueue.RateLimitingInterface)
}

func (Funcs) Create(event.CreateEvent, workqueue.RateLimitingInterface)   {}
func (Funcs) Update(event.UpdateEvent, workqueue.RateLimitingInterface)   {}
func (Funcs) Delete(event.DeleteEvent, workqueue.RateLimitingInterface)   {}
func (Funcs) Generic(event.GenericEvent, workqueue.RateLimitingInterface) {}

type EnqueueRequestForObject struct{ Funcs }

type EnqueueRequestForOwner struct {
	OwnerType    runtime.Object
	IsController bool
	Funcs
}

type MapFunc func(client.Object) []reconcile.Request

func EnqueueRequestsFromMapFunc(f MapFunc) EventHandler { return nil }
