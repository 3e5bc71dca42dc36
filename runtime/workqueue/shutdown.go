package workqueue

import (
	"context"
	"fmt"
)

// ShutDown closes the queue: nothing is added any more and waiting items are dropped, also those that back off. Getters
// get what is ready, and what becomes ready because it was added before and is processing, and then no more. Calling
// it again does nothing.
func (q *Queue[T]) ShutDown() {
	q.lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.wakeAllLocked()
	if q.timer != nil {
		q.timer.Stop()
	}
	for q.schedule.len() > 0 {
		e := q.schedule.top()
		e.at = 0
		q.unscheduleLocked(e)
		q.releaseLocked(e)
	}
	q.settleLocked()
}

// settleLocked closes idle if the time for it has come.
func (q *Queue[T]) settleLocked() {
	if !q.closed || q.ready.count > 0 || q.processings > 0 {
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
		q.lock()
		defer q.mu.Unlock()
		return fmt.Errorf("drain work queue: %d items ready, %d processing: %w", q.ready.count, q.processings, context.Cause(ctx))
	}
}
