package workqueue

import (
	"math"
	"time"
)

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
	// IgnoreBackoff lets the item be got although it backs off. The failures are not forgotten, and an attempt that fails
	// before the end of the backoff neither ends it nor makes it longer. It means nothing beside RateLimited.
	IgnoreBackoff bool
	// Hasten is IgnoreBackoff for a change that calls for another attempt, such as one by a user: of several during a
	// backoff the first makes an attempt at once, and those that follow make one when [Options].ExtraEvery has passed
	// since the last that was made so.
	Hasten bool
}

// Add marks the items as dirty, in one step. One that is dirty already keeps its place; one that is processing becomes
// ready at its Done; one that backs off does so when it has. On a closed queue it does nothing.
func (q *Queue[T]) Add(items ...T) { q.AddWith(AddOptions{}, items...) }

// AddAfter adds the item when d has passed, or at once when d is not positive. When the item waits already, the
// earlier of the two times counts, but it never ends a backoff. On a closed queue it does nothing.
func (q *Queue[T]) AddAfter(item T, d time.Duration) { q.AddWith(AddOptions{After: d}, item) }

// AddRateLimited says that the item failed, and adds it after a delay: the base delay, doubled by every failure
// before this since the last [Queue.Forget]. Until then the item backs off: no other add makes it ready, save with
// IgnoreBackoff, and a call while it does neither counts as a failure nor makes it longer. On a closed queue it does
// nothing.
func (q *Queue[T]) AddRateLimited(item T) { q.AddWith(AddOptions{RateLimited: true}, item) }

// AddWith adds all items in one step, as o says. On a closed queue it does nothing.
func (q *Queue[T]) AddWith(o AddOptions, items ...T) {
	added, ok := q.addAll(&o, items)
	if added > 0 {
		q.metrics.added(added)
	}
	if ok && (o.RateLimited || o.After > 0) {
		q.metrics.retried(len(items))
	}
}

// addAll returns how many items became dirty, and false when the queue is closed.
func (q *Queue[T]) addAll(o *AddOptions, items []T) (added int, ok bool) {
	q.lock()
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
	q.wakeLocked()
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
	if o.RateLimited {
		q.failLocked(e, now)
	}
	urgent, hasten := o.IgnoreBackoff && !o.RateLimited, o.Hasten && !o.RateLimited
	switch {
	case e.floor <= at || urgent:
	case !hasten:
		at = e.floor
	case at > now:
		at = max(at, q.nextExtra(e))
	case !e.processing: // or else Done decides
		at = q.hastenLocked(e, now)
	}
	if at > now {
		q.waitLocked(e, at, p)
		return false
	}
	if e.processing {
		e.urgent, e.hastened = e.urgent || urgent, e.hastened || hasten
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

// hastenLocked returns when an entry becomes ready that was hastened, and notes that it interrupts its backoff if that is
// now.
func (q *Queue[T]) hastenLocked(e *entry[T], now instant) instant {
	if e.floor <= now {
		return now
	}
	at := max(now, q.nextExtra(e))
	if at == now {
		e.extra = now
	}
	return at
}

// failLocked begins a backoff, unless the one before has not ended.
func (q *Queue[T]) failLocked(e *entry[T], now instant) {
	if now < e.floor {
		return
	}
	q.table.own(e)
	e.floor = now.add(q.backoff.delay(int(e.failures)))
	if e.failures < math.MaxInt32 {
		e.failures++
	}
	if e.at != 0 && e.at < e.floor {
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
