package workqueue

import (
	"context"
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
	// ExtraEvery is the shortest time between two attempts at one item that [AddOptions].Hasten makes during its
	// backoff. Zero means 1 s.
	ExtraEvery time.Duration
	// Aging is how long an item has to be ready to rise by one priority. Zero means 1 s.
	Aging time.Duration
	// Metrics gets the workqueue_* metrics. Nil means that nobody sees them.
	Metrics *metrics.Registry
}

// Queue holds each item at most once; Get blocks until one is ready or the queue is closed. [New] makes one.
type Queue[T comparable] struct {
	backoff backoff
	metrics *queueMetrics
	// extraEvery is ExtraEvery of the options.
	extraEvery time.Duration
	// start is the zero of all instants.
	start time.Time
	// idle is closed once the queue is closed, nothing is ready and nothing is processing: it stays so forever.
	idle chan struct{}

	mu sync.Mutex
	// table has the entry of every item that is queued or has failed.
	table table[T]
	// ready has the entries that are dirty and not processing.
	ready readyList[T]
	// processing has the entries that were got and are not Done, in the order in which they were got.
	processing list[T]
	// processings is the length of processing.
	processings int
	// schedule has the entries that wait, and those that only remember failures. It is empty when the queue is closed.
	schedule heap[*entry[T]]
	// scheduled counts the entries that were put into schedule, and gives them their order.
	scheduled uint64
	// timer calls wake at the instant alarm, if there is one. It is never later than the top of schedule.
	timer *time.Timer
	alarm instant
	// sleeping has the getters that wait for a word. Who takes one out of it gives it the word.
	sleeping []sleeper
	// woken counts the getters that were given their word and have not looked yet. There is one whenever something is
	// ready and somebody sleeps.
	woken int
	// beds are sleepers that nobody uses.
	beds []sleeper
	// closed is set by ShutDown: nothing is added any more.
	closed bool
}

// New returns an empty queue. It needs no end: ShutDown is for the sake of those who Get.
func New[T comparable](opts Options) *Queue[T] {
	q := &Queue[T]{
		backoff:    newBackoff(opts.BaseDelay, opts.MaxDelay),
		extraEvery: opts.ExtraEvery,
		start:      time.Now(),
		idle:       make(chan struct{}),
		table:      newTable[T](),
		ready:      newReadyList[T](opts.Aging),
	}
	if q.extraEvery <= 0 {
		q.extraEvery = defaultExtraEvery
	}
	q.metrics = newQueueMetrics(opts.Name, opts.Metrics, q)
	return q
}

// now returns the time, which is never zero.
func (q *Queue[T]) now() instant { return instant(time.Since(q.start)) + 1 }

// Get blocks until an item is ready and returns it, for the caller alone until the caller calls Done with it. It
// returns false when ctx has ended, even if an item is ready, and when the queue is closed and nothing is ready.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) {
	var s sleeper
	for ctx.Err() == nil {
		var waited time.Duration
		item, waited, ok = q.take(&s)
		if ok {
			q.metrics.got(waited)
		}
		if s == nil {
			return item, ok
		}
		select {
		case <-s:
		case <-ctx.Done():
		}
	}
	if s != nil {
		q.leave(s)
	}
	return item, false
}

// take moves the first ready entry to processing, and returns how long it was dirty. When there is none and the queue
// is not closed, the getter goes to sleep: s is then how it is told to look again, and otherwise nil.
func (q *Queue[T]) take(s *sleeper) (item T, waited time.Duration, ok bool) {
	q.lock()
	defer q.mu.Unlock()
	if *s != nil {
		q.woken--
	}
	if q.ready.count == 0 && !q.closed {
		q.sleepLocked(s)
		return item, 0, false
	}
	q.riseLocked(s)
	if q.ready.count == 0 {
		return item, 0, false
	}
	e := q.ready.pop()
	e.dirty, e.processing = false, true
	e.placed = e.priority
	q.processing.push(e)
	q.processings++
	q.wakeLocked()
	if q.metrics != nil {
		e.got = q.now()
		waited = e.got.sub(e.since)
	}
	return e.item, waited, true
}

// Done says that the caller, who got the item, has finished with it. It becomes ready again if it was added since.
// For an item that nobody got it does nothing.
func (q *Queue[T]) Done(item T) {
	if worked, ok := q.done(item); ok {
		q.metrics.done(worked)
	}
}

func (q *Queue[T]) done(item T) (worked time.Duration, ok bool) {
	q.lock()
	defer q.mu.Unlock()
	e := q.table.find(item)
	if e == nil || !e.processing {
		return 0, false
	}
	if q.metrics != nil {
		worked = q.now().sub(e.got)
	}
	e.processing = false
	q.processing.remove(e)
	q.processings--
	q.returnLocked(e)
	q.settleLocked()
	return worked, true
}

// returnLocked puts an entry that is no longer processing where it belongs.
func (q *Queue[T]) returnLocked(e *entry[T]) {
	urgent, hastened := e.urgent, e.hastened
	e.urgent, e.hastened = false, false
	if !e.dirty {
		q.releaseLocked(e)
		return
	}
	now := q.now()
	at := e.floor
	switch {
	case urgent:
		at = now
	case hastened:
		at = q.hastenLocked(e, now)
	}
	if at <= now {
		e.priority = max(e.priority, q.overtakeLocked(e, now))
		q.ready.push(e, now)
		q.wakeLocked()
		return
	}
	// It was added, and then it failed.
	e.dirty = false
	if q.closed {
		q.releaseLocked(e)
		return
	}
	q.waitLocked(e, at, e.priority)
	q.setTimerLocked(now)
}

// releaseLocked drops an entry of which there is nothing to remember. One that only remembers failures is scheduled to
// be dropped.
func (q *Queue[T]) releaseLocked(e *entry[T]) {
	switch {
	case e.queued():
	case e.failures == 0 || q.closed:
		q.unscheduleLocked(e)
		q.table.remove(e)
	default:
		now := q.now()
		q.scheduleLocked(e, max(now, e.floor).add(q.backoff.max))
		q.setTimerLocked(now)
	}
}

// Forget ends the backoff of an item: its next Add counts at once, and its next AddRateLimited waits for the base
// delay. It does not remove the item from the queue, and does not shorten a delay.
func (q *Queue[T]) Forget(item T) {
	q.lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil && e.failures > 0 {
		e.failures, e.floor = 0, 0
		q.releaseLocked(e)
	}
}

// Retries returns how often the item failed since the last Forget.
func (q *Queue[T]) Retries(item T) int {
	q.lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil {
		return int(e.failures)
	}
	return 0
}

// Priority returns the priority with which an item that is processing was got, for one who adds it again. It is zero
// for any other item.
func (q *Queue[T]) Priority(item T) int {
	q.lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil && e.processing {
		return int(e.placed)
	}
	return 0
}

// Len returns how many items are ready.
func (q *Queue[T]) Len() int {
	q.lock()
	defer q.mu.Unlock()
	return q.ready.count
}
