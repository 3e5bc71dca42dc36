package workqueue

import "time"

// MaxPriority is the highest priority, and -MaxPriority the lowest. What is beyond counts as that.
const MaxPriority = 1000

const (
	defaultAging = time.Second
	// maxAging keeps ranks from overflowing.
	maxAging = 1000 * time.Hour
)

// priority is between -MaxPriority and MaxPriority.
type priority int16

func clampPriority(p int) priority { return priority(max(-MaxPriority, min(MaxPriority, p))) }

func clampAging(d time.Duration) time.Duration {
	if d <= 0 {
		return defaultAging
	}
	return min(d, maxAging)
}

// readyList holds ready entries. Each has a rank: when it became ready, less its priority times aging. An entry
// therefore rises by one priority in every aging without being moved, since all others rise as well.
type readyList[T comparable] struct {
	aging time.Duration
	count int
	// levels has all levels that were ever in use, by their priority.
	levels map[priority]*level[T]
	// used is the level in levels that was used last, or nil.
	used *level[T]
	// byRank has the levels that are not empty.
	byRank heap[*level[T]]
}

// level is the ready entries of one priority. They become ready one after the other, so that their ranks ascend.
type level[T comparable] struct {
	priority priority
	entries  list[T]
	count    int // of entries
	place    int
}

// before says which level has the entry that is got first. Of two ranks that are equal the older one counts.
func (l *level[T]) before(m *level[T]) bool {
	a, b := l.entries.first.rank, m.entries.first.rank
	return a < b || a == b && l.priority < m.priority
}

func (l *level[T]) position() *int { return &l.place }

func newReadyList[T comparable](aging time.Duration) readyList[T] {
	return readyList[T]{aging: clampAging(aging), levels: map[priority]*level[T]{}}
}

// rank returns that of an entry which becomes ready now.
func (r *readyList[T]) rank(p priority, now instant) instant {
	return now - instant(p)*instant(r.aging)
}

// push adds an entry, which is in no list, as ready since now.
func (r *readyList[T]) push(e *entry[T], now instant) {
	l := r.level(e.priority)
	e.rank = r.rank(e.priority, now)
	e.placed = e.priority
	l.entries.push(e)
	l.count++
	r.count++
	if l.place == 0 {
		r.byRank.push(l)
	}
}

// level returns the level of a priority, and makes it when there is none.
func (r *readyList[T]) level(p priority) *level[T] {
	// Nearly all entries are of one priority, and a map is asked for each push and each pop.
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

// raise gives an entry in the list a higher priority. It goes behind those that have this priority already, unless
// its age has put it before them.
func (r *readyList[T]) raise(e *entry[T], p priority, now instant) {
	e.priority = p
	// It keeps the better of two ranks: a raise must not cost it the age that it has.
	if r.rank(p, now) < e.rank {
		r.remove(e)
		r.push(e, now)
	}
}

// pop removes and returns the entry of least rank. The list must not be empty.
func (r *readyList[T]) pop() *entry[T] {
	e := r.byRank.top().entries.first
	r.remove(e)
	return e
}

// remove takes e, which must be in the list, out of it.
func (r *readyList[T]) remove(e *entry[T]) {
	l := r.level(e.placed)
	first := l.entries.first == e
	l.entries.remove(e)
	l.count--
	r.count--
	switch {
	case l.entries.first == nil:
		r.byRank.remove(l)
	// The level stands by its first entry.
	case first:
		r.byRank.fix(l)
	}
}
