// Package handler is a stub.
package handler

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

type EventHandler interface{ Handle() }

type MapFunc func(ctx context.Context, obj client.Object) []reconcile.Request

func EnqueueRequestsFromMapFunc(fn MapFunc) EventHandler { return nil }
