package workqueue

import "time"

// MaxPriority is the highest priority, and -MaxPriority the lowest. Values outside this range are clamped to it.
const MaxPriority = 1000

// maxAging keeps ranks from overflowing.
const maxAging = 1000 * time.Hour

// priority is between -MaxPriority and MaxPriority.
type priority int16

func clampPriority(p int) priority { return priority(max(-MaxPriority, min(MaxPriority, p))) }

// readyList holds ready entries. The rank of an entry is the time at which it became ready, minus its priority times
// aging. So an entry rises by one priority in each aging period without being moved, because later entries rank higher.
type readyList[T comparable] struct {
	aging time.Duration
	count int
	// levels has all levels that were ever used, by priority.
	levels map[priority]*level[T]
	// used is the last used level in levels, or nil.
	used *level[T]
	// byRank has the non-empty levels.
	byRank heap[*level[T]]
}

// level has the ready entries of one priority, in ascending order of rank.
type level[T comparable] struct {
	priority priority
	entries  list[T]
	place    int
}

// before reports whether the first entry of l is got before the first entry of m. If the ranks are equal, the entry of
// the lower priority is first, because it is older.
func (l *level[T]) before(m *level[T]) bool {
	a, b := l.entries.first.rank, m.entries.first.rank
	return a < b || a == b && l.priority < m.priority
}

func (l *level[T]) position() *int { return &l.place }

// rank returns the rank of an entry that becomes ready now.
func (r *readyList[T]) rank(p priority, now instant) instant {
	return now - instant(p)*instant(r.aging)
}

// push adds an entry, which must not be in a list. The entry is ready since now.
func (r *readyList[T]) push(e *entry[T], now instant) {
	l := r.level(e.priority)
	e.rank = r.rank(e.priority, now)
	e.placed = e.priority
	l.entries.push(e)
	r.count++
	if l.place == 0 {
		r.byRank.push(l)
	}
}

// level returns the level of a priority, and creates it if necessary.
func (r *readyList[T]) level(p priority) *level[T] {
	// Nearly all entries have the same priority, and a map lookup for each push and pop would be slower.
	if r.used != nil && r.used.priority == p {
		return r.used
	}
	l, ok := r.levels[p]
	if !ok {
		l = &level[T]{priority: p}
		r.levels[p] = l
	}
	r.used = l
	return l
}

// raise gives an entry in the list a higher priority. The entry moves behind the entries of this priority, unless its
// age puts it before them.
func (r *readyList[T]) raise(e *entry[T], p priority, now instant) {
	e.priority = p
	// The entry keeps the better of the two ranks, so that a raise does not lose its age.
	if r.rank(p, now) < e.rank {
		r.remove(e)
		r.push(e, now)
	}
}

// pop removes and returns the entry with the lowest rank. The list must not be empty.
func (r *readyList[T]) pop() *entry[T] {
	e := r.byRank.top().entries.first
	r.remove(e)
	return e
}

// remove removes e, which must be in the list.
func (r *readyList[T]) remove(e *entry[T]) {
	l := r.level(e.placed)
	first := l.entries.first == e
	l.entries.remove(e)
	r.count--
	switch {
	case l.entries.first == nil:
		r.byRank.remove(l)
	// The first entry determines the position of the level.
	case first:
		r.byRank.fix(l)
	}
}
