// Package bridge connects kctrl's controllers with handlers and sources of this module.
package bridge

import (
	"fmt"
	"time"

	"k8s.io/client-go/util/workqueue"

	khandler "github.com/kctrl-dev/kctrl/runtime/handler"
	kworkqueue "github.com/kctrl-dev/kctrl/runtime/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// Options are the options of [Queue].
type Options[R comparable] struct {
	// Limiter computes the delay of rate-limited requests. Nil means the backoff of the queue.
	Limiter workqueue.TypedRateLimiter[R]
	// NoPriorities hides the priorities of the queue.
	NoPriorities bool
}

// Queue returns the queue of a controller, to which handlers and sources add requests. Only the controller removes
// requests: the methods for that panic.
func Queue[R comparable](q khandler.Queue[R], o Options[R]) workqueue.TypedRateLimitingInterface[R] {
	adding := queue[R]{q, o.Limiter}
	if o.NoPriorities {
		return adding
	}
	return prioritized[R]{adding}
}

type queue[R comparable] struct {
	to      khandler.Queue[R]
	limiter workqueue.TypedRateLimiter[R]
}

func (q queue[R]) Add(request R) { q.to.AddAfter(request, 0) }

func (q queue[R]) AddAfter(request R, d time.Duration) { q.to.AddAfter(request, d) }

func (q queue[R]) AddRateLimited(request R) {
	q.to.AddWith(kworkqueue.AddOptions{RateLimited: true, Backoff: q.backoff(request)}, request)
}

// backoff returns the backoff of a request. 0 means the backoff of the queue.
func (q queue[R]) backoff(request R) time.Duration {
	if q.limiter == nil {
		return 0
	}
	return max(1, q.limiter.When(request))
}

// Forget has no effect on the backoff of the queue, which ends with a successful reconcile.
func (q queue[R]) Forget(request R) {
	if q.limiter != nil {
		q.limiter.Forget(request)
	}
}

// NumRequeues returns 0 for the backoff of the queue.
func (q queue[R]) NumRequeues(request R) int {
	if q.limiter == nil {
		return 0
	}
	return q.limiter.NumRequeues(request)
}

func (q queue[R]) Get() (R, bool) {
	notForHandlers("Get")
	panic("unreachable")
}

func (q queue[R]) Done(R)             { notForHandlers("Done") }
func (q queue[R]) ShutDown()          { notForHandlers("ShutDown") }
func (q queue[R]) ShutDownWithDrain() { notForHandlers("ShutDownWithDrain") }

func (q queue[R]) Len() int {
	notForHandlers("Len")
	panic("unreachable")
}

func (q queue[R]) ShuttingDown() bool {
	notForHandlers("ShuttingDown")
	panic("unreachable")
}

func notForHandlers(method string) {
	panic(fmt.Sprintf("handlers and sources only add to the queue of a controller: %s is not supported", method))
}

// prioritized is a queue with priorities.
type prioritized[R comparable] struct{ queue[R] }

var _ priorityqueue.PriorityQueue[int] = prioritized[int]{}

func (q prioritized[R]) AddWithOpts(o priorityqueue.AddOpts, requests ...R) {
	for _, request := range requests {
		options := kworkqueue.AddOptions{After: o.After, RateLimited: o.RateLimited}
		if o.Priority != nil {
			options.Priority = *o.Priority
		}
		if o.RateLimited {
			options.Backoff = q.backoff(request)
		}
		q.to.AddWith(options, request)
	}
}

func (q prioritized[R]) GetWithPriority() (R, int, bool) {
	notForHandlers("GetWithPriority")
	panic("unreachable")
}
