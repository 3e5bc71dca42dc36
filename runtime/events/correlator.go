package events

import (
	"container/list"
	"hash/maphash"
	"time"
)

// record is one Event object, and its state in the sink. The broadcaster's mutex guards it.
type record struct {
	// event is the content that the sink should have.
	event Event
	// order is the number of the record in the order of creation.
	order uint64
	// stored means that the sink has the event. written is the count that the sink has.
	stored  bool
	written int
	// wrote is the time of the last write to the sink.
	wrote time.Time
	// seen is the time of the last occurrence, by the clock and not by the event.
	seen time.Time
	// attempts is the number of failed writes since the last success.
	attempts int
}

// again counts e as a repetition.
func (r *record) again(e Event) {
	r.event.Count++
	if e.Last.After(r.event.Last) {
		r.event.Last = e.Last
	}
}

// isOther reports whether e differs from the event in both its note and the state of its object. Such a note would be
// lost in the same series.
func (r *record) isOther(e Event) bool {
	return e.Note != r.event.Note &&
		(e.Regarding.ResourceVersion != r.event.Regarding.ResourceVersion ||
			e.Related.ResourceVersion != r.event.Related.ResourceVersion)
}

// behind reports whether the sink has the event with an older count.
func (r *record) behind() bool { return r.stored && r.written < r.event.Count }

// correlator detects repeated events. It is not safe for concurrent use.
type correlator interface {
	// observe counts e, and returns the records to write now. Call expire before observe. queued reports whether a record
	// is already waiting to be written.
	observe(e Event, now time.Time, queued func(*record) bool) []*record
	// expire drops ended series. It returns the series that must be written a last time, and the time at which to call
	// expire next; the zero time means never.
	expire(now time.Time) (last []*record, next time.Time)
	// unfinished returns the records that must be written before the process ends.
	unfinished() []*record
	// filtered returns the number of writes that the spam filter has prevented.
	filtered() int
}

func newCorrelator(o Options) correlator {
	spam := &spamFilter{
		refill:  o.SpamRefill,
		full:    time.Duration(o.SpamBurst) * o.SpamRefill,
		buckets: newLRU[source, *bucket](o.CacheSize),
	}
	if o.Correlation != ByCount {
		return &series{spam, newLRU[seriesKey, *record](o.CacheSize)}
	}
	return &counts{
		spamFilter: spam,
		groups:     newLRU[groupKey, *group](o.CacheSize),
		records:    newLRU[countKey, *record](o.CacheSize),
		after:      o.CombineAfter,
		within:     o.CombineWithin,
		seed:       maphash.MakeSeed(),
	}
}

const (
	// seriesEnd is the time without occurrences after which a series has ended.
	seriesEnd = 6 * time.Minute
	// seriesRefresh is the interval at which the count of an active series is written. API servers keep an event for an
	// hour after its last write.
	seriesRefresh = 30 * time.Minute
)

// series is the correlator [BySeries]. It implements "Changes in EventRecorder" of KEP-383, with three differences.
// First, a series continues if the object has changed but the note has not, because most controllers change the objects
// on which they report. Second, the last count is written at the end of the series instead of at a periodic check.
// Third, the number of writes about one object is limited, see [spamFilter].
type series struct {
	*spamFilter
	records *lru[seriesKey, *record]
}

// seriesKey identifies a series.
type seriesKey struct {
	controller, instance      string
	eventType, reason, action string
	regarding, related        Reference // without resource version
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
		r.again(e) // keeps the note, because API servers do not allow changes of it
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

// due reports whether r, whose event has just occurred, must be written.
func (s *series) due(r *record, now time.Time) bool {
	if !r.stored || r.written == 1 {
		return s.allow(r.event, now)
	}
	return now.Sub(r.wrote) >= seriesRefresh
}

// expire checks the records in the order of their last occurrence.
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

// combinedMark is the prefix of the note of an event that combines similar events.
const combinedMark = "(combined from similar events): "

// counts is the correlator [ByCount].
type counts struct {
	*spamFilter
	groups  *lru[groupKey, *group]
	records *lru[countKey, *record]
	after   int
	within  time.Duration
	seed    maphash.Seed
}

// groupKey identifies similar events, which differ in note, and possibly in action and related object.
type groupKey struct {
	source
	reason string
}

// group is the state of similar events.
type group struct {
	last  time.Time
	notes map[uint64]struct{} // hashes of the notes that are counted separately; fewer than after
}

// countKey identifies events that differ only in time.
type countKey struct {
	groupKey
	combined     bool // if true, the fields below are empty
	note, action string
	related      Reference
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
		r.event.Note = e.Note
	} else {
		r = &record{event: e}
		c.records.put(key, r)
	}
	r.seen = now
	if queued(r) || !c.allow(r.event, now) {
		return nil
	}
	return []*record{r}
}

// combine records an event of the group, and reports whether it must be combined with others, because the group already
// has the maximum number of separate notes. The first notes of a group stay separate.
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

// unfinished returns nil, because every count is written when it changes.
func (c *counts) unfinished() []*record { return nil }

// spamFilter has a token bucket for each [source]. A bucket holds at most burst tokens, and gets a new token in each
// refill interval.
type spamFilter struct {
	refill  time.Duration
	full    time.Duration // time to fill an empty bucket
	buckets *lru[source, *bucket]
	refused int
}

// bucket stores a number of tokens as the time in which they are refilled, which avoids rounding errors.
type bucket struct {
	credit time.Duration
	at     time.Time // time of the last update of credit; it never decreases
}

// source identifies the controller, object and type of events that share a bucket.
type source struct {
	controller, instance string
	regarding            Reference // without resource version
	eventType            string
}

func sourceOf(e Event) source {
	return source{controller: e.Controller, instance: e.Instance, regarding: e.Regarding.object(), eventType: e.Type}
}

// allow removes a token for e, and reports whether the bucket had one.
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
		f.refused++
		return false
	}
	b.credit -= f.refill
	return true
}

func (f *spamFilter) filtered() int { return f.refused }

// lru is a map of at most size entries. A new entry replaces the least recently used one.
type lru[K comparable, V any] struct {
	size    int
	entries map[K]*list.Element // values are pair[K, V]
	order   list.List           // most recently used first
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](size int) *lru[K, V] {
	return &lru[K, V]{size: size, entries: map[K]*list.Element{}}
}

// get returns the value of key and marks it as used.
func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := l.entries[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(pair[K, V]).value, true
}

// put sets the value of key, and returns the evicted value, if any.
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

// oldest returns the least recently used value.
func (l *lru[K, V]) oldest() (value V, ok bool) {
	e := l.order.Back()
	if e == nil {
		return value, false
	}
	return e.Value.(pair[K, V]).value, true
}

// removeOldest removes the least recently used value.
func (l *lru[K, V]) removeOldest() {
	if e := l.order.Back(); e != nil {
		delete(l.entries, l.order.Remove(e).(pair[K, V]).key)
	}
}
