package workqueue

import "time"

// instant is a time on the monotonic clock, counted from the creation of the queue. Zero means unset.
type instant int64

func (i instant) add(d time.Duration) instant {
	if sum := i + instant(d); sum >= i {
		return sum
	}
	return 1<<63 - 1
}

func (i instant) sub(j instant) time.Duration { return time.Duration(i - j) }

// entry is the state of one item. It has only the fields that every item needs, because each object has an entry.
type entry[T comparable] struct {
	item T
	// same is the next entry in the chain of the table.
	same *entry[T]
	// next and prev are the neighbors in the list of the level, or in the list of processing entries.
	next, prev *entry[T]

	dirty      bool
	processing bool
	// interrupt is the strongest Interrupt of the adds during processing.
	interrupt Interrupt
	// priority is the highest priority of all adds since the item became dirty.
	priority priority
	// placed is the priority of the level that contains the entry, or while processing, that at the time of Get.
	placed priority

	// since is the time at which the item became dirty, and got the time at which a worker got it.
	since, got instant
	// rank is the position among all ready entries. The entry with the lowest rank is first.
	rank instant

	// delay is never nil. Entries without a delay of their own share one that is zero and never changes.
	*delay
}

// delay is the additional state of an item that waits or has failed.
type delay struct {
	// at is the time at which the item becomes dirty. An item waits if and only if at is not zero.
	at instant
	// floor is the end of the backoff. Only an [Interrupt] makes the item ready earlier.
	floor instant
	// extra is the time at which InterruptLimited last made the item dirty during a backoff.
	extra instant
	// failures counts the failures since the last Forget.
	failures int32
	// waitPriority is the highest priority of the adds since at was set.
	waitPriority priority

	// wake is the entry's time in the schedule: at if it is set, and otherwise when the failures expire.
	wake instant
	// order orders entries with equal wake: the entry that was scheduled first leaves first.
	order uint64
	// place is the index in the schedule plus one. It is zero for an entry that is not scheduled.
	place int
}

// before reports whether e leaves the schedule before f.
func (e *entry[T]) before(f *entry[T]) bool {
	return e.wake < f.wake || e.wake == f.wake && e.order < f.order
}

func (e *entry[T]) position() *int { return &e.place }

// list is a doubly linked list of entries. The zero value is empty.
type list[T comparable] struct {
	first, last *entry[T]
	count       int
}

// push appends e, which must not be in a list.
func (l *list[T]) push(e *entry[T]) {
	l.count++
	e.prev = l.last
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

// remove removes e, which must be in l.
func (l *list[T]) remove(e *entry[T]) {
	l.count--
	if e.prev == nil {
		l.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}
