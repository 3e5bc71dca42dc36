package workqueue

import "slices"

// maxBeds is how many unused sleepers are kept.
const maxBeds = 64

// sleeper is how a blocked getter is told to look again: it holds one word, given by whoever took it out of sleeping.
type sleeper chan struct{}

// sleepLocked notes a getter that finds nothing. It uses the sleeper that the getter has, if any.
func (q *Queue[T]) sleepLocked(s *sleeper) {
	if last := len(q.beds) - 1; *s == nil && last >= 0 {
		*s = q.beds[last]
		q.beds = q.beds[:last]
	}
	if *s == nil {
		*s = make(sleeper, 1)
	}
	q.sleeping = append(q.sleeping, *s)
}

// riseLocked takes back the sleeper of a getter that does not sleep any more, if it has one.
func (q *Queue[T]) riseLocked(s *sleeper) {
	if *s != nil && len(q.beds) < maxBeds {
		q.beds = append(q.beds, *s)
	}
	*s = nil
}

// wakeLocked tells a getter to look for items if there are any, unless one has been told and has not looked yet: that
// one tells the next. So many items wake as many getters as it takes to get them, and these do not get in each other's
// way. Who came last is warm, and goes first.
func (q *Queue[T]) wakeLocked() {
	if q.ready.count > 0 && q.woken == 0 && len(q.sleeping) > 0 {
		q.tellLocked()
	}
}

// wakeAllLocked tells all getters to look.
func (q *Queue[T]) wakeAllLocked() {
	for len(q.sleeping) > 0 {
		q.tellLocked()
	}
}

func (q *Queue[T]) tellLocked() {
	last := len(q.sleeping) - 1
	q.sleeping[last] <- struct{}{}
	q.sleeping = q.sleeping[:last]
	q.woken++
}

// leave ends the sleep of a getter whose context has ended. If it was told to look for items, another one is told.
func (q *Queue[T]) leave(s sleeper) {
	q.lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.sleeping, s); i >= 0 {
		q.sleeping = slices.Delete(q.sleeping, i, i+1)
		q.riseLocked(&s)
		return
	}
	select {
	case <-s:
	default:
	}
	q.woken--
	q.riseLocked(&s)
	q.wakeLocked()
}
