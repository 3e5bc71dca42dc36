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

// riseLocked takes back the sleeper of a getter that has been given its word, if it has one.
func (q *Queue[T]) riseLocked(s *sleeper) {
	if *s != nil && len(q.beds) < maxBeds {
		q.beds = append(q.beds, *s)
	}
	*s = nil
}

// wakeLocked tells as many getters as n, or as there are, to look for items. Who came last is warm, and goes first.
func (q *Queue[T]) wakeLocked(n int) {
	for range min(n, len(q.sleeping)) {
		last := len(q.sleeping) - 1
		q.sleeping[last] <- struct{}{}
		q.sleeping = q.sleeping[:last]
	}
}

// leave ends the sleep of a getter whose context has ended. If it was told to look for an item, another one is told.
func (q *Queue[T]) leave(s sleeper) {
	q.mu.Lock()
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
	q.riseLocked(&s)
	if q.ready.count > 0 {
		q.wakeLocked(1)
	}
}
