package controllertest

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

type TypedQueue[request comparable] struct {
	workqueue.TypedInterface[request]
}

func (q *TypedQueue[request]) AddAfter(item request, d time.Duration) { q.Add(item) }
func (q *TypedQueue[request]) AddRateLimited(item request)            { q.Add(item) }
func (q *TypedQueue[request]) Forget(item request)                    {}
func (q *TypedQueue[request]) NumRequeues(item request) int           { return 0 }
