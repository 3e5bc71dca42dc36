package events

import (
	"hash/maphash"
	"time"
)

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
