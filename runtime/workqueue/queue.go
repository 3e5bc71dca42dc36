package workqueue

import (
	"context"
	"fmt"
	"math"
	"slices"
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
	// ExtraEvery is the shortest time between two attempts at one item that [InterruptLimited] makes during its
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
	// blocked has the signals of the getters that block. Who takes one out of it sends it.
	blocked []signal
	// signaled counts the getters that were signaled and have not looked yet. There is one whenever something is ready
	// and somebody blocks.
	signaled int
	// spares are signals that nobody uses.
	spares []signal
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
	var s signal
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
// is not closed, the getter is to block: s is then how it is told to look again, and otherwise nil.
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
	q.processings++
	q.signalLocked()
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
	q.mu.Lock()
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
	// After the entry went back: it may be ready again, and then the queue is not idle.
	q.closeIdleLocked()
	return worked, true
}

// returnLocked puts an entry that is no longer processing where it belongs.
func (q *Queue[T]) returnLocked(e *entry[T]) {
	interrupt := e.interrupt
	// It was for this attempt; the next backoff is interrupted by what comes then.
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
		// Failures are forgotten when none was added for the longest backoff, or they would be kept for ever.
		q.scheduleLocked(e, max(now, e.floor).add(q.backoff.max))
		q.setTimerLocked(now)
	}
}

// Forget ends the backoff of an item: its next Add counts at once, and its next AddRateLimited waits for the base
// delay. It does not remove the item from the queue, and does not shorten a delay.
func (q *Queue[T]) Forget(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil && e.failures > 0 {
		e.failures, e.floor = 0, 0
		// The failures may have been all there was to remember.
		q.releaseLocked(e)
	}
}

// Retries returns how often the item failed since the last Forget.
func (q *Queue[T]) Retries(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil {
		return int(e.failures)
	}
	return 0
}

// Priority returns the priority with which an item that is processing was got, for one who adds it again. It is zero
// for any other item.
func (q *Queue[T]) Priority(item T) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.table.find(item); e != nil && e.processing {
		return int(e.placed)
	}
	return 0
}

// Len returns how many items are ready.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.count
}

// AddOptions say how [Queue.AddWith] adds. The zero value adds as [Queue.Add] does.
type AddOptions struct {
	// Priority says who goes first: of two ready items, that of the higher one. An item that is added again keeps the
	// higher of its priorities. See [MaxPriority].
	Priority int
	// After delays the item by this time. The earlier of two delays counts.
	After time.Duration
	// RateLimited says that the item failed, which lets it back off as [Queue.AddRateLimited] does. When there is an
	// After as well, the later time counts.
	RateLimited bool
	// Backoff is how long the item backs off if RateLimited is set, in place of what the options of the queue say. Zero is
	// what they say.
	Backoff time.Duration
	// Interrupt says whether the item is got although it backs off. It means nothing beside RateLimited.
	Interrupt Interrupt
}

// Interrupt says whether an item is got before the end of its backoff. The failures are not forgotten by that, and an attempt
// that fails before the end neither ends the backoff nor makes it longer.
type Interrupt int8

const (
	// InterruptNever leaves the item until its backoff ends.
	InterruptNever Interrupt = iota
	// InterruptLimited is for a change that calls for another attempt, such as one by a user: of several during a backoff the
	// first makes an attempt at once, and those that follow make one when [Options].ExtraEvery has passed since the last that
	// was made so.
	InterruptLimited
	// InterruptAlways is for an attempt whose time has come already.
	InterruptAlways
)

// Add marks the items as dirty, in one step. One that is dirty already keeps its place; one that is processing becomes
// ready at its Done; one that backs off does so when it has. On a closed queue it does nothing.
func (q *Queue[T]) Add(items ...T) { q.AddWith(AddOptions{}, items...) }

// AddAfter adds the item when d has passed, or at once when d is not positive. When the item waits already, the
// earlier of the two times counts, but it never ends a backoff. On a closed queue it does nothing.
func (q *Queue[T]) AddAfter(item T, d time.Duration) { q.AddWith(AddOptions{After: d}, item) }

// AddRateLimited says that the item failed, and adds it after a delay: the base delay, doubled by every failure
// before this since the last [Queue.Forget]. Until then the item backs off: no other add makes it ready, save by
// an [Interrupt], and a call while it does neither counts as a failure nor makes it longer. On a closed queue it does
// nothing.
func (q *Queue[T]) AddRateLimited(item T) { q.AddWith(AddOptions{RateLimited: true}, item) }

// AddWith adds all items in one step, as o says. On a closed queue it does nothing.
func (q *Queue[T]) AddWith(o AddOptions, items ...T) {
	q.metrics.show(clampPriority(o.Priority))
	added, ok := q.addAll(&o, items)
	// Without the lock: metrics are somebody else's code.
	if added > 0 {
		q.metrics.added(added)
	}
	if ok && (o.RateLimited || o.After > 0) {
		q.metrics.retried(len(items))
	}
}

// addAll returns how many items became dirty, and false when the queue is closed.
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
	// Once for all: a getter that is told tells the next while there are more.
	q.signalLocked()
	q.setTimerLocked(now)
	return added, true
}

// addLocked reports whether the item became dirty.
func (q *Queue[T]) addLocked(e *entry[T], o *AddOptions, now instant) bool {
	p := clampPriority(o.Priority)
	at := now
	if o.After > 0 {
		at = now.add(o.After)
	}
	// First, since the backoff that begins is what the rest looks at.
	if o.RateLimited {
		q.failLocked(e, o.Backoff, now)
	}
	interrupt := o.Interrupt
	if o.RateLimited {
		interrupt = InterruptNever
	}
	switch {
	case e.floor <= at || interrupt == InterruptAlways:
	case interrupt == InterruptNever:
		at = e.floor
	case at > now:
		at = max(at, q.nextExtra(e))
	case !e.processing: // or else Done decides
		at = q.interruptLocked(e, now)
	}
	if at > now {
		q.waitLocked(e, at, p)
		return false
	}
	if e.processing {
		// Whether the attempt under way fails, and backs off, is known at its Done.
		e.interrupt = max(e.interrupt, interrupt)
	}
	return q.dirtyLocked(e, p, now)
}

// nextExtra returns when a backoff can be interrupted, which is at its end at the latest.
func (q *Queue[T]) nextExtra(e *entry[T]) instant {
	if e.extra == 0 {
		return 0
	}
	return min(e.extra.add(q.extraEvery), e.floor)
}

// interruptLocked returns when an entry becomes ready that was added with InterruptLimited, and notes that it interrupts its
// backoff if that is now.
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

// failLocked begins a backoff, unless the one before has not ended. It takes as long as its number says if wanted is zero.
func (q *Queue[T]) failLocked(e *entry[T], wanted time.Duration, now instant) {
	// A second failure within one backoff, such as of an attempt that interrupted it, is not another one.
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
		// What waits for an earlier time would be got within the backoff.
		e.at = e.floor
		q.scheduleLocked(e, e.at)
	}
}

// waitLocked lets the entry become dirty at that time, or when it would have before if that is earlier.
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

// dirtyLocked marks an entry as dirty, whatever its floor is. It reports whether it was not.
func (q *Queue[T]) dirtyLocked(e *entry[T], p priority, now instant) bool {
	p = max(p, q.overtakeLocked(e, now))
	switch {
	case !e.dirty:
		e.dirty = true
		e.since = now
		e.priority = p
		if !e.processing {
			// While it is processing it is only dirty: no two workers have one item.
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

// overtakeLocked ends the wait for the end of a backoff, which an attempt before that makes needless, and returns the
// priority that waited.
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

const (
	defaultBaseDelay = 5 * time.Millisecond
	defaultMaxDelay  = 1000 * time.Second
	// defaultExtraEvery is the default of ExtraEvery.
	defaultExtraEvery = time.Second
)

// backoff is the delay after the first failure, and the longest.
type backoff struct{ base, max time.Duration }

func newBackoff(base, limit time.Duration) backoff {
	if base <= 0 {
		base = defaultBaseDelay
	}
	if limit <= 0 {
		limit = defaultMaxDelay
	}
	return backoff{base: base, max: limit}
}

// delay returns base doubled by every earlier failure, up to the maximum. Any number of failures is fine.
func (b backoff) delay(failures int) time.Duration {
	if failures >= 63 || b.base > b.max>>failures {
		return b.max
	}
	return b.base << failures
}

// ShutDown closes the queue: nothing is added any more and waiting items are dropped, also those that back off. Getters
// get what is ready, and what becomes ready because it was added before and is processing, and then no more. Calling
// it again does nothing.
func (q *Queue[T]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	// A getter that blocks would else wait for an item that cannot come.
	q.signalAllLocked()
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

// closeIdleLocked closes idle if the time for it has come.
func (q *Queue[T]) closeIdleLocked() {
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
	// A queue that is idle is drained, also for a context that has ended.
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
		return fmt.Errorf("drain work queue: %d items ready, %d processing: %w", q.ready.count, q.processings, context.Cause(ctx))
	}
}

// maxSpares is how many unused signals are kept.
const maxSpares = 64

// signal is how a blocked getter is told to look again: it has room for one, sent by whoever took it out of blocked.
type signal chan struct{}

// blockLocked notes a getter that finds nothing. It uses the signal that the getter has, if any.
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

// unblockLocked takes back the signal of a getter that does not block any more, if it has one.
func (q *Queue[T]) unblockLocked(s *signal) {
	// A getter blocks for each item of a slow queue: its channel is used again.
	if *s != nil && len(q.spares) < maxSpares {
		q.spares = append(q.spares, *s)
	}
	*s = nil
}

// signalLocked tells a getter to look for items if there are any, unless one has been told and has not looked yet: that
// one tells the next. So many items wake as many getters as it takes to get them, and these do not get in each other's
// way. Who came last is warm, and goes first.
func (q *Queue[T]) signalLocked() {
	if q.ready.count > 0 && q.signaled == 0 && len(q.blocked) > 0 {
		q.signalOneLocked()
	}
}

// signalAllLocked tells all getters to look.
func (q *Queue[T]) signalAllLocked() {
	for len(q.blocked) > 0 {
		q.signalOneLocked()
	}
}

func (q *Queue[T]) signalOneLocked() {
	last := len(q.blocked) - 1
	q.blocked[last] <- struct{}{}
	q.blocked = q.blocked[:last]
	q.signaled++
}

// leave ends the wait of a getter whose context has ended. If it was told to look for items, another one is told.
func (q *Queue[T]) leave(s signal) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.blocked, s); i >= 0 {
		q.blocked = slices.Delete(q.blocked, i, i+1)
		q.unblockLocked(&s)
		return
	}
	// It was told between the end of its context and the lock. The signal must be empty for the next getter.
	select {
	case <-s:
	default:
	}
	q.signaled--
	q.unblockLocked(&s)
	q.signalLocked()
}

// scheduleLocked lets the schedule hand out e at wake.
func (q *Queue[T]) scheduleLocked(e *entry[T], wake instant) {
	e.wake = wake
	if e.place != 0 {
		q.schedule.fix(e)
		return
	}
	q.scheduled++
	// Of items with one time the first scheduled is the first handed out.
	e.order = q.scheduled
	q.schedule.push(e)
}

// unscheduleLocked takes e out of the schedule, if it is there.
func (q *Queue[T]) unscheduleLocked(e *entry[T]) {
	if e.place != 0 {
		q.schedule.remove(e)
	}
}

// setTimerLocked makes the timer fire no later than the top of the schedule.
func (q *Queue[T]) setTimerLocked(now instant) {
	if q.schedule.len() == 0 {
		return
	}
	wake := q.schedule.top().wake
	// A timer that fires too early only looks again, which costs less than setting it for every add.
	if q.alarm != 0 && q.alarm <= wake {
		return
	}
	q.alarm = wake
	if q.timer == nil {
		q.timer = time.AfterFunc(wake.sub(now), q.ring)
	} else {
		q.timer.Reset(wake.sub(now))
	}
}

// ring is called by the timer.
func (q *Queue[T]) ring() {
	if added := q.promote(); added > 0 {
		q.metrics.added(added)
	}
}

// promote marks the items as dirty whose delay has passed, and returns how many became so. It forgets failures that
// have expired.
func (q *Queue[T]) promote() (added int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.now()
	// The timer has fired, so setTimerLocked has to set it again.
	q.alarm = 0
	for q.schedule.len() > 0 && q.schedule.top().wake <= now {
		e := q.schedule.top()
		if e.at == 0 {
			// Scheduled with no time to become dirty at: this is the time to forget its failures.
			e.failures, e.floor = 0, 0
			q.releaseLocked(e)
			continue
		}
		if now < e.floor {
			e.extra = now
			if e.processing {
				e.interrupt = InterruptAlways // its time has come, and Done shall not make it wait again
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
