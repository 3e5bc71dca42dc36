package source

import (
	"context"

	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type TypedSource[request comparable] interface {
	Start(context.Context, workqueue.TypedRateLimitingInterface[request]) error
}

type TypedSyncingSource[request comparable] interface {
	TypedSource[request]
	WaitForSync(ctx context.Context) error
}

type SyncingSource = TypedSyncingSource[reconcile.Request]

type TypedFunc[request comparable] func(context.Context, workqueue.TypedRateLimitingInterface[request]) error

func (f TypedFunc[request]) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
	return f(ctx, queue)
}

type Func = TypedFunc[reconcile.Request]

type ChannelOpt[object any, request comparable] func()

func WithBufferSize[object any, request comparable](size int) ChannelOpt[object, request] { return nil }

func WithPredicates[object any, request comparable](p ...predicate.TypedPredicate[object]) ChannelOpt[object, request] {
	return nil
}

type Source = TypedSource[reconcile.Request]

func Kind[object client.Object](c cache.Cache, obj object, h handler.TypedEventHandler[object, reconcile.Request], predicates ...predicate.TypedPredicate[object]) Source {
	return nil
}

func Channel[object any](c <-chan event.TypedGenericEvent[object], h handler.TypedEventHandler[object, reconcile.Request], opts ...ChannelOpt[object, reconcile.Request]) Source {
	return nil
}
