package events

import "time"

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
