package workqueue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Options say how a queue is named and how long failing items back off. The zero value is ready for use.
type Options struct {
	// Name is the value of the label name of the queue's metrics. A queue without a name is not measured.
	Name string
	// BaseDelay is how long an item waits after its first failure. Zero means 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest time that an item waits after a failure. Zero means 1000 s.
	MaxDelay time.Duration
	// Metrics gets the workqueue_* metrics. Nil means that nobody sees them.
	Metrics *metrics.Registry
}

// Queue holds each item at most once; Get blocks until one is ready or the queue is closed. [New] makes one.
type Queue[T comparable] struct {
	backoff backoff
	metrics *queueMetrics

	// wake holds a token whenever an item is ready that no getter is about to look for. One getter takes it, and puts
	// it back when there is more.
	wake chan struct{}
	// closing is closed by the first ShutDown.
	closing chan struct{}
	// idle is closed once the queue is closed, nothing is ready and nothing is processing: it stays so forever.
	idle chan struct{}

	mu sync.Mutex
	// ready holds, in the order in which they became so, the items that are dirty and not processing.
	ready fifo[T]
	// dirty has every item that needs processing, with the time since which it does. An item that was added while
	// it is processing is dirty and not ready.
	dirty map[T]time.Time
	// processing has every item that was got and is not Done, with the time when it was got.
	processing map[T]time.Time
	// waiting has the items whose delay has not passed. It is empty when the queue is closed.
	waiting schedule[T]
	// timer calls promote at the earliest time in waiting. It is nil until the first delay.
	timer *time.Timer
	// failures counts, by item, the AddRateLimited since the last Forget. No item has a zero.
	failures map[T]int
	// closed is set by ShutDown: nothing is added any more.
	closed bool
}

// New returns an empty queue. It needs no end: ShutDown is for the sake of those who Get.
func New[T comparable](opts Options) *Queue[T] {
	q := &Queue[T]{
		backoff:    newBackoff(opts.BaseDelay, opts.MaxDelay),
		wake:       make(chan struct{}, 1),
		closing:    make(chan struct{}),
		idle:       make(chan struct{}),
		dirty:      map[T]time.Time{},
		processing: map[T]time.Time{},
		waiting:    newSchedule[T](),
		failures:   map[T]int{},
	}
	q.metrics = newQueueMetrics(opts.Name, opts.Metrics, q)
	return q
}

// Add marks the items as dirty. One that is dirty already keeps its place; one that is processing becomes ready at its
// Done. On a closed queue it does nothing.
func (q *Queue[T]) Add(items ...T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	for _, item := range items {
		q.addLocked(item)
	}
}

func (q *Queue[T]) addLocked(item T) {
	if _, ok := q.dirty[item]; ok {
		return
	}
	q.metrics.added()
	q.dirty[item] = time.Now()
	if _, ok := q.processing[item]; !ok {
		q.readyLocked(item)
	}
}

// readyLocked puts a dirty item where getters find it.
func (q *Queue[T]) readyLocked(item T) {
	q.ready.push(item)
	q.signal()
}

// signal puts the token into wake, unless it is there.
func (q *Queue[T]) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// AddAfter adds the item when d has passed, or at once when d is not positive. When the item waits already, the
// earlier of the two times counts. On a closed queue it does nothing.
func (q *Queue[T]) AddAfter(item T, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.addAfterLocked(item, d)
	}
}

// AddRateLimited adds the item after a delay that doubles with every call for it since the last [Queue.Forget]. On a
// closed queue it does nothing.
func (q *Queue[T]) AddRateLimited(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	d := q.backoff.delay(q.failures[item])
	q.failures[item]++
	q.addAfterLocked(item, d)
}

func (q *Queue[T]) addAfterLocked(item T, d time.Duration) {
	q.metrics.retried()
	if d <= 0 {
		q.addLocked(item)
		return
	}
	if q.waiting.add(item, time.Now().Add(d)) {
		q.setTimerLocked()
	}
}

// setTimerLocked makes the timer fire at the earliest time in waiting.
func (q *Queue[T]) setTimerLocked() {
	at, ok := q.waiting.earliest()
	switch {
	case !ok:
	case q.timer == nil:
		q.timer = time.AfterFunc(time.Until(at), q.promote)
	default:
		q.timer.Reset(time.Until(at))
	}
}

// promote adds the items whose delay has passed. It may be called at any time.
func (q *Queue[T]) promote() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for item := range q.waiting.due(now) {
		q.addLocked(item)
	}
	q.setTimerLocked()
}

// Forget ends the backoff of an item: its next AddRateLimited waits for the base delay. It does not remove the item
// from the queue, and does not shorten a delay.
func (q *Queue[T]) Forget(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.failures, item)
}

// Retries returns how often AddRateLimited was called for the item since the last Forget.
func (q *Queue[T]) Retries(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failures[item]
}

// Len returns how many items are ready.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.len()
}

// Get blocks until an item is ready and returns it, for the caller alone until the caller calls Done with it. It
// returns false when ctx has ended, even if an item is ready, and when the queue is closed and nothing is ready.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) {
	for {
		if ctx.Err() != nil {
			q.passOn()
			return item, false
		}
		item, ok, closed := q.take()
		if ok || closed {
			return item, ok
		}
		select {
		case <-q.wake:
		case <-q.closing:
		case <-ctx.Done():
		}
	}
}

// take moves the first ready item to processing. When there is none it reports whether the queue is closed.
func (q *Queue[T]) take() (item T, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ready.len() == 0 {
		return item, false, q.closed
	}
	item = q.ready.pop()
	now := time.Now()
	q.metrics.got(now.Sub(q.dirty[item]))
	delete(q.dirty, item)
	q.processing[item] = now
	if q.ready.len() > 0 {
		q.signal()
	}
	return item, true, false
}

// passOn gives the token, which a getter that goes away may have taken, to another one.
func (q *Queue[T]) passOn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ready.len() > 0 {
		q.signal()
	}
}

// Done says that the caller, who got the item, has finished with it. It becomes ready again if it was added since.
// For an item that nobody got it does nothing.
func (q *Queue[T]) Done(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	since, ok := q.processing[item]
	if !ok {
		return
	}
	q.metrics.done(time.Since(since))
	delete(q.processing, item)
	if _, ok := q.dirty[item]; ok {
		q.readyLocked(item)
	}
	q.settleLocked()
}

// ShutDown closes the queue: nothing is added any more and waiting items are dropped. Getters get what is ready, and
// what becomes ready because it was added before and is processing, and then no more. Calling it again does nothing.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	close(q.closing)
	q.waiting.clear()
	if q.timer != nil {
		q.timer.Stop()
	}
	q.settleLocked()
}

// settleLocked closes idle if the time for it has come.
func (q *Queue[T]) settleLocked() {
	if !q.closed || q.ready.len() > 0 || len(q.processing) > 0 {
		return
	}
	select {
	case <-q.idle:
	default:
		close(q.idle)
	}
}

// Drain closes the queue as ShutDown does, and waits until all that was ready has been got and is Done, which takes
// workers that go on until Get returns false. When ctx ends earlier, the error holds its cause and says what is left.
func (q *Queue[T]) Drain(ctx context.Context) error {
	q.ShutDown()
	select {
	case <-q.idle:
		return nil
	default:
	}
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		return fmt.Errorf("drain work queue: %d items ready, %d processing: %w", q.ready.len(), len(q.processing), context.Cause(ctx))
	}
}
