package workqueue

import "time"

// instant is a time on the monotonic clock, counted from the creation of the queue. Zero means none.
type instant int64

func (i instant) add(d time.Duration) instant {
	if sum := i + instant(d); sum >= i {
		return sum
	}
	return 1<<63 - 1
}

func (i instant) sub(j instant) time.Duration { return time.Duration(i - j) }

// entry is all that a queue knows about one item. There is one for every item of a list that is read at the start, so it
// has no more than all items need.
type entry[T comparable] struct {
	item T
	// same is the next entry in the chain of the table.
	same *entry[T]
	// next and prev are the neighbours in the list of the level or, of an entry that is processing, in the list of
	// those.
	next, prev *entry[T]

	dirty      bool
	processing bool
	// interrupt is the strongest with which the item was added while processing.
	interrupt Interrupt
	// priority is the highest with which the item was added since it became dirty.
	priority priority
	// placed is the priority of the level in which the entry is ready or, of one that is processing, the one that it had
	// when it was got.
	placed priority

	// since is when the item became dirty, and got when it was got.
	since, got instant
	// rank is the place among all ready entries: the least is got first.
	rank instant

	// delay is what the item waits for. It is never nil; one that is shared with other entries is zero and stays so.
	*delay
}

// delay is what a queue knows about an item that waits or has failed.
type delay struct {
	// at is when the item becomes dirty. An item waits iff it has one.
	at instant
	// floor is how long the item backs off after the last failure. Until then it does not become ready, unless an
	// [Interrupt] lets it.
	floor instant
	// extra is when the item was last made dirty during a backoff by InterruptLimited.
	extra instant
	// failures is how often the item failed since the last Forget.
	failures int32
	// waitPriority is the highest with which the item was added since at was set.
	waitPriority priority

	// wake is when the schedule hands out the entry: at, if there is one, or else when the failures expire.
	wake instant
	// order tells entries of one wake apart: the one that came first is handed out first.
	order uint64
	// place is the one in the schedule, plus one. It is zero for an entry that is not scheduled.
	place int
}

// queued reports whether the item will be got, or is.
func (e *entry[T]) queued() bool { return e.dirty || e.processing || e.at != 0 }

// before says which of two scheduled entries is handed out first.
func (e *entry[T]) before(f *entry[T]) bool {
	return e.wake < f.wake || e.wake == f.wake && e.order < f.order
}

func (e *entry[T]) position() *int { return &e.place }

// list is a doubly linked list of entries. The zero value is empty.
type list[T comparable] struct{ first, last *entry[T] }

// push puts e, which must be in no list, behind all others.
func (l *list[T]) push(e *entry[T]) {
	e.prev = l.last
	if l.last == nil {
		l.first = e
	} else {
		l.last.next = e
	}
	l.last = e
}

// remove takes e, which must be in l, out of it.
func (l *list[T]) remove(e *entry[T]) {
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
