package priorityqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

type AddOpts struct {
	After    time.Duration
	Priority *int
}

type PriorityQueue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]
	AddWithOpts(o AddOpts, items ...T)
}
