package workqueue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Options configures the name of a queue and its backoff. The zero value is ready for use.
type Options struct {
	// Name is the value of the label name in the metrics. A queue without a name has no metrics.
	Name string
	// BaseDelay is the delay after an item's first failure. Zero means 5 ms.
	BaseDelay time.Duration
	// MaxDelay is the longest delay after a failure. Zero means 1000 s.
	MaxDelay time.Duration
	// ExtraEvery is the minimum interval of attempts that [InterruptLimited] causes in a backoff. Zero means 1 s.
	ExtraEvery time.Duration
	// Aging is the time after which the priority of a ready item rises by one. Zero means 1 s.
	Aging time.Duration
	// Metrics receives the workqueue_* metrics. Nil disables them.
	Metrics *metrics.Registry
}

// Queue holds each item at most once. Get blocks until an item is ready or the queue is closed. Use [New] for a Queue.
type Queue[T comparable] struct {
	backoff backoff
	metrics *queueMetrics
	// extraEvery is Options.ExtraEvery.
	extraEvery time.Duration
	// start is the time from which all instants are counted.
	start time.Time
	// idle is closed once the queue is closed and no item is ready or processing. That state is final.
	idle chan struct{}

	mu sync.Mutex
	// table has the entry of every item that is dirty, processing or waiting, or that has failed.
	table table[T]
	// ready has the entries that are dirty and not processing.
	ready readyList[T]
	// processing has the entries between Get and Done, in the order of Get.
	processing list[T]
	// schedule has the entries that wait, and the entries that only record failures. It is empty when the queue is closed.
	schedule heap[*entry[T]]
	// scheduled counts the entries that were scheduled, and orders them.
	scheduled uint64
	// timer calls ring at the instant alarm, unless alarm is zero. alarm is never later than the top of schedule.
	timer *time.Timer
	alarm instant
	// blocked has the signals of the getters that block. A signal is sent by the code that removes it from blocked.
	blocked []signal
	// signaled counts the getters that were signaled and have not yet checked the queue. It is positive whenever an item
	// is ready and a getter blocks.
	signaled int
	// spares are unused signals.
	spares []signal
	// closed is set by ShutDown. A closed queue accepts no items.
	closed bool
}

// New returns an empty queue. A queue that no getter uses needs no ShutDown.
func New[T comparable](opts Options) *Queue[T] {
	q := &Queue[T]{
		backoff:    newBackoff(opts.BaseDelay, opts.MaxDelay),
		extraEvery: orDefault(opts.ExtraEvery, defaultExtraEvery),
		start:      time.Now(),
		idle:       make(chan struct{}),
		table:      newTable[T](),
		ready: readyList[T]{aging: min(orDefault(opts.Aging, defaultAging), maxAging),
			levels: map[priority]*level[T]{}},
	}
	q.metrics = newQueueMetrics(opts.Name, opts.Metrics, q)
	return q
}

// now returns the current instant, which is never zero.
func (q *Queue[T]) now() instant { return instant(time.Since(q.start)) + 1 }

// Get blocks until an item is ready, and returns it. The caller owns the item until it calls Done. Get returns false
// when ctx has ended, even if an item is ready, and when the queue is closed and no item is ready.
func (q *Queue[T]) Get(ctx context.Context) (item T, ok bool) {
	var s signal
	for ctx.Err() == nil {
		var waited time.Duration
		item, waited, ok = q.take(&s)
		if ok {
			q.metrics.queueDuration.Observe(waited.Seconds(), q.metrics.labels...)
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

// take moves the first ready entry to processing, and returns how long it was dirty. If no entry is ready and the queue
// is open, take sets s to the signal that wakes the getter; otherwise it sets s to nil.
func (q *Queue[T]) take(s *signal) (item T, waited time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if *s != nil {
		q.signaled--
	}
	if q.ready.count == 0 && !q.closed {
		q.blockLocked(s)
		return item, 0, false
	}
	q.unblockLocked(s)
	if q.ready.count == 0 {
		return item, 0, false
	}
	e := q.ready.pop()
	e.dirty, e.processing = false, true
	e.placed = e.priority
	q.processing.push(e)
	q.signalLocked()
	if q.metrics.labels != nil {
		e.got = q.now()
		waited = e.got.sub(e.since)
	}
	return e.item, waited, true
}

// Done reports that the caller has finished with the item that it got. If the item was added in the meantime, it
// becomes ready again. Done does nothing for an item that is not processing.
func (q *Queue[T]) Done(item T) {
	if worked, ok := q.done(item); ok {
		q.metrics.workDuration.Observe(worked.Seconds(), q.metrics.labels...)
	}
}

func (q *Queue[T]) done(item T) (worked time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.table.find(item)
	if e == nil || !e.processing {
		return 0, false
	}
	if q.metrics.labels != nil {
		worked = q.now().sub(e.got)
	}
	e.processing = false
	q.processing.remove(e)
	q.returnLocked(e)
	// The entry has been returned by now: if it is ready again, the queue is not idle.
	q.closeIdleLocked()
	return worked, true
}

// returnLocked moves an entry that is no longer processing to its next state.
func (q *Queue[T]) returnLocked(e *entry[T]) {
	interrupt := e.interrupt
	// The interrupt belonged to this attempt. Later adds decide about the next backoff.
	e.interrupt = InterruptNever
	if !e.dirty {
		q.releaseLocked(e)
		return
	}
	now := q.now()
	at := e.floor
	switch interrupt {
	case InterruptAlways:
		at = now
	case InterruptLimited:
		at = q.interruptLocked(e, now)
	}
	if at <= now {
		e.priority = max(e.priority, q.overtakeLocked(e, now))
		q.ready.push(e, now)
		q.signalLocked()
		return
	}
	// The item was added and then failed.
	e.dirty = false
	if q.closed {
		q.releaseLocked(e)
		return
	}
	q.waitLocked(e, at, e.priority)
	q.setTimerLocked(now)
}

// releaseLocked drops an entry that has no state. It schedules an entry that only records failures for removal.
func (q *Queue[T]) releaseLocked(e *entry[T]) {
	switch {
	case e.dirty || e.processing || e.at != 0:
	case e.failures == 0 || q.closed:
		q.unscheduleLocked(e)
		q.table.remove(e)
	default:
		now := q.now()
		// Failures expire after the longest backoff without an add. Otherwise the queue would keep them forever.
		q.scheduleLocked(e, max(now, e.floor).add(q.backoff.max))
		q.setTimerLocked(now)
	}
}

// Forget ends the backoff of an item: its next Add makes it ready at once, and its next AddRateLimited waits for the
// base delay. Forget does not remove the item from the queue, and does not shorten a delay.
func (q *Queue[T]) Forget(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil && e.failures > 0 {
		e.failures, e.floor = 0, 0
		// The failures may have been the entry's only state.
		q.releaseLocked(e)
	}
}

// Retries returns the number of failures since the last Forget.
func (q *Queue[T]) Retries(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil {
		return int(e.failures)
	}
	return 0
}

// Priority returns the priority with which a worker got an item that is being processed, so that the caller can add the
// item again with it. It is zero for any other item.
func (q *Queue[T]) Priority(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil && e.processing {
		return int(e.placed)
	}
	return 0
}

// Len returns the number of ready items.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.count
}

// AddOptions configures [Queue.AddWith]. The zero value makes AddWith behave like [Queue.Add].
type AddOptions struct {
	// Priority orders ready items: workers get the item with the highest priority first. An item that is added again keeps
	// the higher of its two priorities. See [MaxPriority].
	Priority int
	// After delays the item. If the item already waits, the earlier time applies.
	After time.Duration
	// RateLimited reports a failure of the item, which then backs off as with [Queue.AddRateLimited]. If After is also
	// set, the later time applies.
	RateLimited bool
	// Backoff overrides the length of the backoff if RateLimited is set. Zero means the delay from the queue's options.
	Backoff time.Duration
	// Interrupt decides whether the item becomes ready before its backoff ends. It has no effect with RateLimited.
	Interrupt Interrupt
}

// Interrupt decides whether an item becomes ready before the end of its backoff. An interrupt does not reset the count
// of failures. If an attempt fails before the end of the backoff, it neither ends nor extends the backoff.
type Interrupt int8

const (
	// InterruptNever waits for the end of the backoff.
	InterruptNever Interrupt = iota
	// InterruptLimited is for a change that justifies another attempt, such as a user's edit. The first one in a backoff
	// causes an attempt at once, later ones when [Options].ExtraEvery has passed since the previous attempt.
	InterruptLimited
	// InterruptAlways is for an attempt that is already due.
	InterruptAlways
)

// Add marks the items as dirty, in one step. A dirty item keeps its position, a processing item becomes ready at its
// Done, and an item that backs off becomes ready at the end of its backoff. If the queue is closed, Add does nothing.
func (q *Queue[T]) Add(items ...T) { q.AddWith(AddOptions{}, items...) }

// AddAfter adds the item when d has passed, or at once if d is not positive. If the item already waits, the earlier
// time applies. AddAfter never ends a backoff. If the queue is closed, AddAfter does nothing.
func (q *Queue[T]) AddAfter(item T, d time.Duration) { q.AddWith(AddOptions{After: d}, item) }

// AddRateLimited reports a failure of the item, and adds it after a delay: the base delay, doubled for each earlier
// failure since the last [Queue.Forget]. During this backoff, only an [Interrupt] makes the item ready, and further
// calls neither count as failures nor extend the backoff. If the queue is closed, AddRateLimited does nothing.
func (q *Queue[T]) AddRateLimited(item T) { q.AddWith(AddOptions{RateLimited: true}, item) }

// AddWith adds all items in one step with the given options. If the queue is closed, AddWith does nothing.
func (q *Queue[T]) AddWith(o AddOptions, items ...T) {
	q.metrics.show(clampPriority(o.Priority))
	added, ok := q.addAll(&o, items)
	// Metrics are not part of this package, so they are called without holding the lock.
	if added > 0 {
		q.metrics.adds.Add(float64(added), q.metrics.labels...)
	}
	if ok && (o.RateLimited || o.After > 0) {
		q.metrics.retries.Add(float64(len(items)), q.metrics.labels...)
	}
}

// addAll returns the number of items that became dirty. It reports false if the queue is closed.
func (q *Queue[T]) addAll(o *AddOptions, items []T) (added int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return 0, false
	}
	now := q.now()
	for _, item := range items {
		if q.addLocked(q.table.at(item), o, now) {
			added++
		}
	}
	// One signal suffices, because a getter that was signaled signals the next one while more items are ready.
	q.signalLocked()
	q.setTimerLocked(now)
	return added, true
}

// addLocked adds one item and reports whether it became dirty.
func (q *Queue[T]) addLocked(e *entry[T], o *AddOptions, now instant) bool {
	p := clampPriority(o.Priority)
	at := now
	if o.After > 0 {
		at = now.add(o.After)
	}
	interrupt := o.Interrupt
	if o.RateLimited {
		// The failure is recorded first, because the rest depends on the backoff that it begins.
		q.failLocked(e, o.Backoff, now)
		interrupt = InterruptNever
	}
	switch {
	case e.floor <= at || interrupt == InterruptAlways:
	case interrupt == InterruptNever:
		at = e.floor
	case at > now:
		at = max(at, q.nextExtra(e))
	case !e.processing: // otherwise Done decides
		at = q.interruptLocked(e, now)
	}
	if at > now {
		q.waitLocked(e, at, p)
		return false
	}
	if e.processing {
		// Done decides, because it is not yet known whether the current attempt fails and starts a backoff.
		e.interrupt = max(e.interrupt, interrupt)
	}
	return q.dirtyLocked(e, p, now)
}

// nextExtra returns the earliest time at which the backoff can be interrupted, which is never later than its end.
func (q *Queue[T]) nextExtra(e *entry[T]) instant {
	if e.extra == 0 {
		return 0
	}
	return min(e.extra.add(q.extraEvery), e.floor)
}

// interruptLocked returns the time at which an entry that was added with InterruptLimited becomes ready. If that time
// is now, it records the interrupt.
func (q *Queue[T]) interruptLocked(e *entry[T], now instant) instant {
	if e.floor <= now {
		return now
	}
	at := max(now, q.nextExtra(e))
	if at == now {
		e.extra = now
	}
	return at
}

// failLocked begins a backoff, unless one is in progress. If wanted is zero, the failures determine the length.
func (q *Queue[T]) failLocked(e *entry[T], wanted time.Duration, now instant) {
	// A second failure within one backoff, such as the failure of an attempt that interrupted it, does not count.
	if now < e.floor {
		return
	}
	q.table.own(e)
	if wanted <= 0 {
		wanted = q.backoff.delay(int(e.failures))
	}
	e.floor = now.add(wanted)
	if e.failures < math.MaxInt32 {
		e.failures++
	}
	if e.at != 0 && e.at < e.floor {
		// An earlier time would make the item ready within the backoff.
		e.at = e.floor
		q.scheduleLocked(e, e.at)
	}
}

// waitLocked makes the entry dirty at the given time, or at the time for which it already waits if that is earlier.
func (q *Queue[T]) waitLocked(e *entry[T], at instant, p priority) {
	q.table.own(e)
	switch {
	case e.at == 0:
		e.waitPriority = p
	case at < e.at:
		e.waitPriority = max(e.waitPriority, p)
	default:
		e.waitPriority = max(e.waitPriority, p)
		return
	}
	e.at = at
	q.scheduleLocked(e, at)
}

// dirtyLocked marks an entry as dirty, regardless of its floor. It reports whether the entry was not dirty before.
func (q *Queue[T]) dirtyLocked(e *entry[T], p priority, now instant) bool {
	p = max(p, q.overtakeLocked(e, now))
	switch {
	case !e.dirty:
		e.dirty = true
		e.since = now
		e.priority = p
		if !e.processing {
			// An entry that is processing is only marked, because two workers must never have the same item.
			q.ready.push(e, now)
		}
		return true
	case p <= e.priority:
	case e.processing:
		e.priority = p
	default:
		q.ready.raise(e, p, now)
	}
	return false
}

// overtakeLocked cancels the wait for the end of a backoff, because an earlier attempt makes the wait unnecessary. It
// returns the priority of that wait.
func (q *Queue[T]) overtakeLocked(e *entry[T], now instant) (waited priority) {
	waited = -MaxPriority
	if e.at != 0 && e.at <= max(now, e.floor) {
		waited = e.waitPriority
		e.at = 0
	}
	if e.at == 0 {
		q.unscheduleLocked(e)
	}
	return waited
}

// Defaults of Options.
const (
	defaultBaseDelay  = 5 * time.Millisecond
	defaultMaxDelay   = 1000 * time.Second
	defaultExtraEvery = time.Second
	defaultAging      = time.Second
)

// orDefault returns d, or byDefault if d is not positive.
func orDefault(d, byDefault time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return byDefault
}

// backoff is the first delay and the longest delay.
type backoff struct{ base, max time.Duration }

func newBackoff(base, limit time.Duration) backoff {
	return backoff{base: orDefault(base, defaultBaseDelay), max: orDefault(limit, defaultMaxDelay)}
}

// delay returns base doubled for every earlier failure, up to the maximum. It does not overflow.
func (b backoff) delay(failures int) time.Duration {
	if failures >= 63 || b.base > b.max>>failures {
		return b.max
	}
	return b.base << failures
}

// ShutDown closes the queue. A closed queue accepts no items and drops waiting items, including those that back off.
// Getters still receive the ready items, and the processing items that had been added again. Further calls do nothing.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	// A blocked getter would otherwise wait forever.
	for len(q.blocked) > 0 {
		q.signalOneLocked()
	}
	if q.timer != nil {
		q.timer.Stop()
	}
	for q.schedule.len() > 0 {
		e := q.schedule.top()
		e.at = 0
		q.unscheduleLocked(e)
		q.releaseLocked(e)
	}
	q.closeIdleLocked()
}

// closeIdleLocked closes idle if the queue is closed and no item is ready or processing.
func (q *Queue[T]) closeIdleLocked() {
	if q.closed && q.ready.count == 0 && q.processing.count == 0 && !life.IsClosed(q.idle) {
		close(q.idle)
	}
}

// Drain closes the queue as ShutDown does, and waits until workers, which must call Get until it returns false, have
// finished all ready items. If ctx ends earlier, the error wraps its cause and has the number of remaining items.
func (q *Queue[T]) Drain(ctx context.Context) error {
	q.ShutDown()
	// An idle queue is drained, even if the context has already ended.
	if life.IsClosed(q.idle) {
		return nil
	}
	select {
	case <-q.idle:
		return nil
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		return fmt.Errorf("drain work queue: %d items ready, %d processing: %w", q.ready.count, q.processing.count,
			context.Cause(ctx))
	}
}

// maxSpares is how many unused signals are kept.
const maxSpares = 64

// signal wakes a blocked getter. Its buffer has room for the value sent by the code that removes it from blocked.
type signal chan struct{}

// blockLocked records a getter that found no item. It reuses the signal of the getter, if there is one.
func (q *Queue[T]) blockLocked(s *signal) {
	if last := len(q.spares) - 1; *s == nil && last >= 0 {
		*s = q.spares[last]
		q.spares = q.spares[:last]
	}
	if *s == nil {
		*s = make(signal, 1)
	}
	q.blocked = append(q.blocked, *s)
}

// unblockLocked collects the signal of a getter that no longer blocks.
func (q *Queue[T]) unblockLocked(s *signal) {
	// A getter of a slow queue blocks for each item, so its channel is reused.
	if *s != nil && len(q.spares) < maxSpares {
		q.spares = append(q.spares, *s)
	}
	*s = nil
}

// signalLocked wakes a getter if items are ready. It does nothing while a woken getter has not yet checked the queue,
// because that getter wakes the next one. The number of woken getters therefore follows the number of items, and
// getters do not contend. The getter that blocked last is woken first, because its caches are warm.
func (q *Queue[T]) signalLocked() {
	if q.ready.count > 0 && q.signaled == 0 && len(q.blocked) > 0 {
		q.signalOneLocked()
	}
}

func (q *Queue[T]) signalOneLocked() {
	last := len(q.blocked) - 1
	q.blocked[last] <- struct{}{}
	q.blocked = q.blocked[:last]
	q.signaled++
}

// leave ends the wait of a getter whose context has ended. If it was signaled, leave signals another getter.
func (q *Queue[T]) leave(s signal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.blocked, s); i >= 0 {
		q.blocked = slices.Delete(q.blocked, i, i+1)
	} else {
		// The signal arrived after the end of the context. The next getter needs an empty signal.
		select {
		case <-s:
		default:
		}
		q.signaled--
	}
	q.unblockLocked(&s)
	q.signalLocked()
}

func (q *Queue[T]) scheduleLocked(e *entry[T], wake instant) {
	e.wake = wake
	if e.place != 0 {
		q.schedule.fix(e)
		return
	}
	q.scheduled++
	// Items with equal times leave in the order in which they were scheduled.
	e.order = q.scheduled
	q.schedule.push(e)
}

func (q *Queue[T]) unscheduleLocked(e *entry[T]) {
	if e.place != 0 {
		q.schedule.remove(e)
	}
}

// setTimerLocked sets the timer to the top of the schedule or earlier.
func (q *Queue[T]) setTimerLocked(now instant) {
	if q.schedule.len() == 0 {
		return
	}
	wake := q.schedule.top().wake
	// A timer that fires too early only checks the schedule again, which costs less than setting the timer for every add.
	if q.alarm != 0 && q.alarm <= wake {
		return
	}
	q.alarm = wake
	if q.timer == nil {
		q.timer = time.AfterFunc(wake.sub(now), func() {
			q.metrics.adds.Add(float64(q.promote()), q.metrics.labels...)
		})
	} else {
		q.timer.Reset(wake.sub(now))
	}
}

// promote marks items whose delay has passed as dirty and returns their number. It drops expired failures.
func (q *Queue[T]) promote() (added int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	// The timer has fired, so setTimerLocked must set it again.
	q.alarm = 0
	for q.schedule.len() > 0 && q.schedule.top().wake <= now {
		e := q.schedule.top()
		if e.at == 0 {
			// The entry is scheduled only for the removal of its failures.
			e.failures, e.floor = 0, 0
			q.releaseLocked(e)
			continue
		}
		if now < e.floor {
			e.extra = now
			if e.processing {
				e.interrupt = InterruptAlways // the delay has passed, so Done must not let the item wait again
			}
		}
		if q.dirtyLocked(e, e.waitPriority, now) {
			added++
		}
	}
	q.signalLocked()
	q.setTimerLocked(now)
	return added
}
