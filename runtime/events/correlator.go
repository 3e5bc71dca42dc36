package events

import (
	"container/list"
	"hash/maphash"
	"time"
)

// record is one Event object, and how far the sink knows it. The mutex of its broadcaster guards it.
type record struct {
	// event is what the sink should have.
	event Event
	// order is the place of the record among all, by the time at which it was made.
	order uint64
	// stored says that the sink has the event, with the count written.
	stored  bool
	written int
	// wrote is when the sink was last told.
	wrote time.Time
	// seen is when the event happened last, by the clock and not by what the event says.
	seen time.Time
	// attempts is the number of writes that failed since one succeeded.
	attempts int
}

// again counts e as a repetition.
func (r *record) again(e Event) {
	r.event.Count++
	r.event.Last = later(r.event.Last, e.Last)
	r.event.Note = e.Note
}

// isOther reports whether e says something else than the event, of an object in another state. As one more of the same series nobody
// would ever read its note.
func (r *record) isOther(e Event) bool {
	return e.Note != r.event.Note &&
		(e.Regarding.ResourceVersion != r.event.Regarding.ResourceVersion || e.Related.ResourceVersion != r.event.Related.ResourceVersion)
}

// behind reports whether the sink has the event with an older count.
func (r *record) behind() bool { return r.stored && r.written < r.event.Count }

// correlator finds out which events are repetitions. It is used by one goroutine at a time.
type correlator interface {
	// observe counts e, and returns what is to be written now. What is over has been forgotten before. queued says of a
	// record that it waits for being written anyway.
	observe(e Event, now time.Time, queued func(*record) bool) []*record
	// expire forgets what is over, and returns what of it is to be written for the last time, and when to be called
	// next; the zero time is never.
	expire(now time.Time) (last []*record, next time.Time)
	// unfinished returns what is to be written before the end of the process.
	unfinished() []*record
	// filtered returns how many writes were not done for being too many.
	filtered() int
}

func newCorrelator(o Options) correlator {
	if o.Correlation == ByCount {
		return newCounts(o)
	}
	return newSeries(o)
}

const (
	// seriesEnd is how long a series has to be quiet to be over.
	seriesEnd = 6 * time.Minute
	// seriesRefresh is how often the count of a series that goes on is written. API servers keep an event for an hour
	// after its last write.
	seriesRefresh = 30 * time.Minute
)

// series is the correlator [BySeries]. It does what KEP-383 says under "Changes in EventRecorder", and three things
// more: the series goes on when the object has changed in between and the note has not, as most controllers change what they report about;
// the last count is written when the series is over, and not at the next of several checks; and the number of writes
// about one object is limited, see [spamFilter].
type series struct {
	records *lru[seriesKey, *record]
	spam    *spamFilter
	dropped int
}

// seriesKey is the same for all events of a series.
type seriesKey struct {
	controller, instance      string
	eventType, reason, action string
	regarding, related        Reference // without state
}

func newSeries(o Options) *series {
	return &series{records: newLRU[seriesKey, *record](o.CacheSize), spam: newSpamFilter(o)}
}

func (s *series) observe(e Event, now time.Time, queued func(*record) bool) (write []*record) {
	key := seriesKey{
		controller: e.Controller, instance: e.Instance,
		eventType: e.Type, reason: e.Reason, action: e.Action,
		regarding: e.Regarding.object(), related: e.Related.object(),
	}
	r, ok := s.records.get(key)
	if ok && r.isOther(e) {
		if r.behind() && !queued(r) {
			write = append(write, r)
		}
		ok = false
	}
	if ok {
		note := r.event.Note
		r.again(e)
		r.event.Note = note // API servers do not let it be changed
	} else {
		r = &record{event: e}
		if evicted, full := s.records.put(key, r); full && evicted.behind() {
			write = append(write, evicted)
		}
	}
	r.seen = now
	if !queued(r) && s.due(r, now) {
		write = append(write, r)
	}
	return write
}

// due reports whether r, which has just happened, is to be written.
func (s *series) due(r *record, now time.Time) bool {
	begins := !r.stored || r.written == 1
	switch {
	case begins && s.spam.allow(r.event, now):
		return true
	case begins:
		s.dropped++
		return false
	}
	return now.Sub(r.wrote) >= seriesRefresh
}

// expire looks at the records that have been quiet for longest: their order is that of the last use.
func (s *series) expire(now time.Time) (last []*record, next time.Time) {
	for r, ok := s.records.oldest(); ok; r, ok = s.records.oldest() {
		if end := r.seen.Add(seriesEnd); now.Before(end) {
			return last, end
		}
		if r.behind() {
			last = append(last, r)
		}
		s.records.removeOldest()
	}
	return last, time.Time{}
}

func (s *series) unfinished() (all []*record) {
	for _, e := range s.records.entries {
		if r := e.Value.(pair[seriesKey, *record]).value; r.behind() {
			all = append(all, r)
		}
	}
	return all
}

func (s *series) filtered() int { return s.dropped }

// combinedMark begins the note of an event that stands for similar ones.
const combinedMark = "(combined from similar events): "

// counts is the correlator [ByCount].
type counts struct {
	groups  *lru[groupKey, *group]
	records *lru[countKey, *record]
	spam    *spamFilter
	after   int
	within  time.Duration
	seed    maphash.Seed
	dropped int
}

// groupKey is the same for events that are similar: they differ in their notes, and perhaps in their actions and related
// objects.
type groupKey struct {
	source
	reason string
}

// group are similar events.
type group struct {
	last  time.Time
	notes map[uint64]struct{} // hashes of the notes that are counted one by one; fewer than after
}

// countKey is the same for events that are the same in everything but time.
type countKey struct {
	groupKey
	combined     bool // then all below is empty
	note, action string
	related      Reference
}

func newCounts(o Options) *counts {
	return &counts{
		groups:  newLRU[groupKey, *group](o.CacheSize),
		records: newLRU[countKey, *record](o.CacheSize),
		spam:    newSpamFilter(o),
		after:   o.CombineAfter,
		within:  o.CombineWithin,
		seed:    maphash.MakeSeed(),
	}
}

func (c *counts) observe(e Event, now time.Time, queued func(*record) bool) (write []*record) {
	key := countKey{groupKey: groupKey{source: sourceOf(e), reason: e.Reason}}
	if c.combine(key.groupKey, e.Note, now) {
		key.combined = true
		e.Note = fitNote(combinedMark + e.Note)
		e.Related = Reference{}
	} else {
		key.note, key.action, key.related = e.Note, e.Action, e.Related.object()
	}
	r, ok := c.records.get(key)
	if ok {
		r.again(e)
	} else {
		r = &record{event: e}
		c.records.put(key, r)
	}
	r.seen = now
	switch {
	case queued(r):
		return nil
	case c.spam.allow(r.event, now):
		return []*record{r}
	}
	c.dropped++
	return nil
}

// combine notes that an event of the group has happened, and reports whether it is one too many to stand alone. The
// first notes of a group go on to do so.
func (c *counts) combine(key groupKey, note string, now time.Time) bool {
	g, ok := c.groups.get(key)
	if !ok || now.Sub(g.last) > c.within {
		g = &group{notes: map[uint64]struct{}{}}
		c.groups.put(key, g)
	}
	g.last = now
	hash := maphash.String(c.seed, note)
	if _, known := g.notes[hash]; known {
		return false
	}
	if len(g.notes) >= c.after-1 {
		return true
	}
	g.notes[hash] = struct{}{}
	return false
}

func (c *counts) expire(time.Time) ([]*record, time.Time) { return nil, time.Time{} }

// unfinished returns nothing: every count is written when it changes.
func (c *counts) unfinished() []*record { return nil }

func (c *counts) filtered() int { return c.dropped }

// spamFilter is a token bucket for each [source]: burst tokens at most, one more each refill.
type spamFilter struct {
	refill  time.Duration
	full    time.Duration // the time in which an empty bucket fills
	buckets *lru[source, *bucket]
}

// bucket is a number of tokens, as the time that it took to get them: so it is exact.
type bucket struct {
	credit time.Duration
	at     time.Time // when credit was right; never goes back
}

// source is who says something about which object, and what type of thing.
type source struct {
	controller, instance string
	regarding            Reference // without state
	eventType            string
}

func newSpamFilter(o Options) *spamFilter {
	return &spamFilter{
		refill:  o.SpamRefill,
		full:    time.Duration(o.SpamBurst) * o.SpamRefill,
		buckets: newLRU[source, *bucket](o.CacheSize),
	}
}

func sourceOf(e Event) source {
	return source{controller: e.Controller, instance: e.Instance, regarding: e.Regarding.object(), eventType: e.Type}
}

// allow takes a token for e, and reports whether there was one.
func (f *spamFilter) allow(e Event, now time.Time) bool {
	key := sourceOf(e)
	b, ok := f.buckets.get(key)
	if !ok {
		b = &bucket{credit: f.full, at: now}
		f.buckets.put(key, b)
	}
	b.credit += min(now.Sub(b.at), f.full-b.credit)
	b.at = now
	if b.credit < f.refill {
		return false
	}
	b.credit -= f.refill
	return true
}

// lru is a map of at most size entries. A new one takes the place of that which was not used for longest.
type lru[K comparable, V any] struct {
	size    int
	entries map[K]*list.Element // of pair[K, V]
	order   list.List           // the last used first
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, entries: map[K]*list.Element{}}
}

// get returns the value of key, and counts as a use.
func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := l.entries[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(pair[K, V]).value, true
}

// put sets the value of key, and returns the value that had to go for it, if one had.
func (l *lru[K, V]) put(key K, value V) (evicted V, ok bool) {
	if e, exists := l.entries[key]; exists {
		e.Value = pair[K, V]{key, value}
		l.order.MoveToFront(e)
		return evicted, false
	}
	if len(l.entries) >= l.size {
		evicted, ok = l.oldest()
		l.removeOldest()
	}
	l.entries[key] = l.order.PushFront(pair[K, V]{key, value})
	return evicted, ok
}

// oldest returns the value that was not used for longest.
func (l *lru[K, V]) oldest() (value V, ok bool) {
	e := l.order.Back()
	if e == nil {
		return value, false
	}
	return e.Value.(pair[K, V]).value, true
}

// removeOldest removes what oldest returns.
func (l *lru[K, V]) removeOldest() {
	if e := l.order.Back(); e != nil {
		delete(l.entries, l.order.Remove(e).(pair[K, V]).key)
	}
}
