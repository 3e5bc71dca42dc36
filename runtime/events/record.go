package events

import "time"

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
