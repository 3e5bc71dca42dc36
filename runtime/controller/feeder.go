package controller

import (
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/handler"
	"github.com/kctrl-dev/kctrl/runtime/workqueue"
)

// quietPriority is that of requests for which nothing has changed: what exists at the start, and resyncs. They age in the
// queue as all do, so that changes go first but not for ever.
const quietPriority = -100

// feeder is the queue as sources see it: it knows why requests are added, and collects them for a while.
type feeder[R comparable] struct {
	queue    *workqueue.Queue[R]
	debounce time.Duration

	mu      sync.Mutex
	reasons map[R]reason // of requests that were not got since they were added; those without a cause have none
}

var _ handler.CausalQueue[string] = (*feeder[string])(nil)

func newFeeder[R comparable](queue *workqueue.Queue[R], debounce time.Duration) *feeder[R] {
	return &feeder[R]{queue: queue, debounce: debounce, reasons: map[R]reason{}}
}

// Because returns the feeder for one event.
func (f *feeder[R]) Because(cause handler.Cause) handler.Queue[R] {
	if cause.Quiet {
		return quiet[R]{f}
	}
	return &caused[R]{feeder: f, cause: cause}
}

func (f *feeder[R]) Add(requests ...R) { f.AddWith(workqueue.AddOptions{}, requests...) }

func (f *feeder[R]) AddAfter(request R, d time.Duration) {
	f.AddWith(workqueue.AddOptions{After: d}, request)
}

func (f *feeder[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	o.After = max(o.After, f.debounce)
	f.queue.AddWith(o, requests...)
}

// take returns why a request was added, and forgets it.
func (f *feeder[R]) take(request R) reason {
	f.mu.Lock()
	defer f.mu.Unlock()
	because, ok := f.reasons[request]
	if ok {
		delete(f.reasons, request)
	}
	return because
}

// caused is a feeder for one event.
type caused[R comparable] struct {
	feeder *feeder[R]
	cause  handler.Cause
}

func (c *caused[R]) Add(requests ...R) { c.AddWith(workqueue.AddOptions{}, requests...) }

func (c *caused[R]) AddAfter(request R, d time.Duration) {
	c.AddWith(workqueue.AddOptions{After: d}, request)
}

// AddWith notes the cause before a worker can get the request.
func (c *caused[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	c.feeder.mu.Lock()
	for _, request := range requests {
		c.feeder.reasons[request] = c.feeder.reasons[request].and(&c.cause)
	}
	c.feeder.mu.Unlock()
	c.feeder.AddWith(o, requests...)
}

// quiet is a feeder for an event that changes nothing. It is not collected, and no cause.
type quiet[R comparable] struct{ feeder *feeder[R] }

func (q quiet[R]) Add(requests ...R) { q.AddWith(workqueue.AddOptions{}, requests...) }

func (q quiet[R]) AddAfter(request R, d time.Duration) {
	q.AddWith(workqueue.AddOptions{After: d}, request)
}

func (q quiet[R]) AddWith(o workqueue.AddOptions, requests ...R) {
	if o.Priority == 0 {
		o.Priority = quietPriority
	}
	q.feeder.queue.AddWith(o, requests...)
}
