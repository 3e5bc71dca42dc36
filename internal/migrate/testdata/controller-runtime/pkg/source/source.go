package source

import (
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type TypedSource[request comparable] interface{ Wait(request) }

type Source = TypedSource[reconcile.Request]

func Kind[object client.Object](c cache.Cache, obj object, h handler.TypedEventHandler[object, reconcile.Request], predicates ...predicate.TypedPredicate[object]) Source {
	return nil
}

func Channel[object any](c <-chan event.TypedGenericEvent[object], h handler.TypedEventHandler[object, reconcile.Request]) Source {
	return nil
}
