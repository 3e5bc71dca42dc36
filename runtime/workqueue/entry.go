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

// entry is all that a queue knows about one item.
type entry[T comparable] struct {
	item T

	// level is where the entry is ready: it has one iff it is dirty and not processing.
	level *level[T]
	// next and prev are the neighbours in the list of the level or, of an entry that is processing, in the list of
	// those.
	next, prev *entry[T]

	dirty      bool
	processing bool
	// urgent is set when the item was added while processing by somebody who ignores its backoff.
	urgent bool
	// priority is the highest with which the item was added since it became dirty.
	priority priority
	// waitPriority is the highest with which the item was added since at was set.
	waitPriority priority
	// gotPriority is the one that the item had when it was got. It is zero unless the item is processing.
	gotPriority priority

	// since is when the item became dirty, and got when it was got.
	since, got instant
	// rank is the place among all ready entries: the least is got first.
	rank instant

	// at is when the item becomes dirty. An item waits iff it has one.
	at instant
	// failures is how often the item failed since the last Forget, and floor is how long it backs off after the last
	// of them. Until then it does not become ready, unless somebody ignores its backoff.
	failures int
	floor    instant

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
