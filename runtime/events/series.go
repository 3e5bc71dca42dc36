package events

import "time"

const (
	// seriesEnd is how long a series has to be quiet to be over.
	seriesEnd = 6 * time.Minute
	// seriesRefresh is how often the count of a series that goes on is written. API servers keep an event for an hour
	// after its last write.
	seriesRefresh = 30 * time.Minute
)

// series is the correlator [BySeries]. It does what KEP-383 says under "Changes in EventRecorder", and three things
// more: the series goes on when the object has changed in between, as most controllers change what they report about;
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
