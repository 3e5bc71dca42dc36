// Package priorityqueue provides kctrl's work queue with the methods of client-go's queues.
package priorityqueue

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"

	kworkqueue "github.com/kctrl-dev/kctrl/runtime/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// AddOpts are the options of [PriorityQueue].AddWithOpts.
type AddOpts struct {
	// After is the delay of the items.
	After time.Duration
	// RateLimited delays the items by the rate limiter.
	RateLimited bool
	// Priority orders the items, highest first. Nil means 0.
	Priority *int
}

// PriorityQueue is a queue with priorities.
type PriorityQueue[T comparable] interface {
	workqueue.TypedRateLimitingInterface[T]
	// AddWithOpts adds items.
	AddWithOpts(o AddOpts, Items ...T)
	// GetWithPriority is like Get, and also returns the priority of the item.
	GetWithPriority() (item T, priority int, shutdown bool)
}

// Opts are the options of [New].
type Opts[T comparable] struct {
	// RateLimiter computes the delay of rate-limited items.
	RateLimiter workqueue.TypedRateLimiter[T]
	// MetricProvider must be nil. The queue always adds its metrics to metrics.Registry.
	MetricProvider workqueue.MetricsProvider
	// Log is the logger.
	Log logr.Logger
}

// Opt changes the options of [New].
type Opt[T comparable] func(*Opts[T])

// New returns a queue. It panics if a MetricProvider is set.
func New[T comparable](name string, o ...Opt[T]) PriorityQueue[T] {
	opts := &Opts[T]{}
	for _, opt := range o {
		opt(opts)
	}
	if opts.MetricProvider != nil {
		panic("priorityqueue.Opts.MetricProvider is not supported: the metrics of the queue are in metrics.Registry")
	}
	if opts.RateLimiter == nil {
		opts.RateLimiter = workqueue.DefaultTypedControllerRateLimiter[T]()
	}
	ctx, end := context.WithCancel(context.Background())
	return &queue[T]{
		queue:   kworkqueue.New[T](kworkqueue.Options{Name: name, Metrics: metrics.Kctrl()}),
		limiter: opts.RateLimiter, ctx: ctx, end: end,
	}
}

// queue is a queue of kctrl with the methods of client-go.
type queue[T comparable] struct {
	queue   *kworkqueue.Queue[T]
	limiter workqueue.TypedRateLimiter[T]
	ctx     context.Context // ends with ShutDown
	end     func()
}

// AddWithOpts implements [PriorityQueue].
func (q *queue[T]) AddWithOpts(o AddOpts, items ...T) {
	for _, item := range items {
		options := kworkqueue.AddOptions{After: o.After, Interrupt: kworkqueue.InterruptAlways}
		if o.Priority != nil {
			options.Priority = *o.Priority
		}
		if o.RateLimited {
			options.After = max(o.After, q.limiter.When(item))
		}
		q.queue.AddWith(options, item)
	}
}

// Add implements workqueue.TypedInterface.
func (q *queue[T]) Add(item T) { q.AddWithOpts(AddOpts{}, item) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *queue[T]) AddAfter(item T, after time.Duration) { q.AddWithOpts(AddOpts{After: after}, item) }

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) AddRateLimited(item T) { q.AddWithOpts(AddOpts{RateLimited: true}, item) }

// Get implements workqueue.TypedInterface.
func (q *queue[T]) Get() (item T, shutdown bool) {
	item, ok := q.queue.Get(context.Background())
	return item, !ok
}

// GetWithPriority implements [PriorityQueue].
func (q *queue[T]) GetWithPriority() (item T, priority int, shutdown bool) {
	item, shutdown = q.Get()
	if !shutdown {
		priority = q.queue.Priority(item)
	}
	return item, priority, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *queue[T]) Done(item T) { q.queue.Done(item) }

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) Forget(item T) { q.limiter.Forget(item) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *queue[T]) NumRequeues(item T) int { return q.limiter.NumRequeues(item) }

// Len implements workqueue.TypedInterface.
func (q *queue[T]) Len() int { return q.queue.Len() }

// ShutDown implements workqueue.TypedInterface.
func (q *queue[T]) ShutDown() {
	q.end()
	q.queue.ShutDown()
}

// ShutDownWithDrain implements workqueue.TypedInterface.
func (q *queue[T]) ShutDownWithDrain() {
	q.end()
	_ = q.queue.Drain(context.Background())
}

// ShuttingDown implements workqueue.TypedInterface.
func (q *queue[T]) ShuttingDown() bool { return q.ctx.Err() != nil }
