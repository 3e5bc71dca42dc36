package events

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// FuzzCorrelation decodes a history of events from bytes and sends it to a correlator whose events are written at once.
// It compares the written events with a model that applies the rules to the whole history.
func FuzzCorrelation(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		steps := make([]byte, random.IntN(400))
		for i := range steps {
			steps[i] = byte(random.Uint32())
		}
		f.Add(steps)
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		history := historyOf(steps)
		for _, correlation := range []Correlation{BySeries, ByCount} {
			want := model[correlation](history)
			if got := replay(t, Options{Correlation: correlation}, history); !maps.Equal(got, want) {
				t.Errorf("correlation %d of %d events wrote\n%v\nwant\n%v", correlation, len(history), got, want)
			}
			for name, count := range replay(t, Options{Correlation: correlation, CacheSize: 3}, history) {
				if count < 1 || count > len(history) {
					t.Errorf("%s has the count %d of %d events", name, count, len(history))
				}
			}
		}
	})
}

// occurrence is an event and the time at which it was recorded.
type occurrence struct {
	Event
	at time.Time
}

// pauses are the possible times between two events. They include values just below, at and above each duration in the
// rules.
var pauses = []time.Duration{
	0, 0, 0, 0, 0, 0, time.Second, time.Minute, 5 * time.Minute, seriesEnd - 1, seriesEnd, 10 * time.Minute,
	10*time.Minute + 1, 20 * time.Minute,
}

// historyOf decodes each event from two bytes: the object, the content, and the time since the previous event.
func historyOf(steps []byte) (history []occurrence) {
	now := time.Unix(1e9, 0)
	for pair := range slices.Chunk(steps, 2) {
		if len(pair) < 2 {
			break
		}
		now = now.Add(pauses[int(pair[1]>>4)%len(pauses)])
		what := pair[0]
		history = append(history, occurrence{at: now, Event: Event{
			Name:       fmt.Sprint(len(history)),
			Regarding:  Reference{Kind: "Thing", Name: fmt.Sprint(what & 1), ResourceVersion: fmt.Sprint(what >> 5 & 3)},
			Type:       []string{Normal, Normal, Normal, Warning}[what>>1&3],
			Reason:     fmt.Sprint(what >> 3 & 1),
			Action:     fmt.Sprint(what >> 4 & 1),
			Note:       fmt.Sprint(pair[1] & 15),
			Controller: "guestbook", First: now, Last: now, Count: 1,
		}})
	}
	return history
}

// replay returns the written counts by the name of the event.
func replay(t *testing.T, o Options, history []occurrence) map[string]int {
	o = o.complete()
	c, stored := newCorrelator(o), map[string]int{}
	write := func(records []*record, now time.Time) {
		for _, r := range records {
			if old := stored[r.event.Name]; old >= r.event.Count {
				t.Errorf("%s is written with the count %d after %d", r.event.Name, r.event.Count, old)
			}
			stored[r.event.Name] = r.event.Count
			r.stored, r.written, r.wrote = true, r.event.Count, now
		}
	}
	var now time.Time
	for _, e := range history {
		now = e.at
		last, _ := c.expire(now)
		write(last, now)
		write(c.observe(e.Event, now, func(*record) bool { return false }), now)
	}
	write(c.unfinished(), now)
	return stored
}

// model returns the counts that must be written for a history.
var model = map[Correlation]func([]occurrence) map[string]int{BySeries: seriesModel, ByCount: countsModel}

// tokens counts the allowed writes about each object.
type tokens map[string][]time.Time

// allow reports whether another write is allowed. The bucket holds at most 25 tokens and gains one every five minutes.
func (t tokens) allow(e occurrence) bool {
	key := e.Regarding.Name + e.Type
	free, at := 25*5*time.Minute, e.at
	for i, taken := range t[key] {
		if i > 0 {
			free = min(25*5*time.Minute, free+taken.Sub(t[key][i-1]))
		}
		free -= 5 * time.Minute
	}
	if n := len(t[key]); n > 0 {
		free = min(25*5*time.Minute, free+at.Sub(t[key][n-1]))
	}
	if free < 5*time.Minute {
		return false
	}
	t[key] = append(t[key], at)
	return true
}

func seriesModel(history []occurrence) map[string]int {
	stored, allowed := map[string]int{}, tokens{}
	type state struct {
		name, note, version string
		count               int
		last                time.Time
	}
	open := map[string]*state{}
	finish := func(s *state) {
		if stored[s.name] > 0 {
			stored[s.name] = s.count
		}
	}
	for _, e := range history {
		key := e.Regarding.Name + e.Type + e.Reason + e.Action
		s := open[key]
		if s != nil && (e.at.Sub(s.last) >= 6*time.Minute || e.Note != s.note && e.Regarding.ResourceVersion != s.version) {
			finish(s)
			s = nil
		}
		if s == nil {
			s = &state{name: e.Name, note: e.Note, version: e.Regarding.ResourceVersion}
			open[key] = s
		}
		s.count, s.last = s.count+1, e.at
		if stored[s.name] < 2 && allowed.allow(e) {
			stored[s.name] = s.count
		}
	}
	for _, s := range open {
		finish(s)
	}
	return stored
}

func countsModel(history []occurrence) map[string]int {
	stored, allowed := map[string]int{}, tokens{}
	names, total := map[string]string{}, map[string]int{}
	for i, e := range history {
		key := identity(history[:i+1])
		names[key] = cmp.Or(names[key], e.Name)
		total[key]++
		if allowed.allow(e) {
			stored[names[key]] = total[key]
		}
	}
	return stored
}

// identity returns what identifies the last event of a history: its content, or its group if the group has too many
// different notes.
func identity(history []occurrence) string {
	e := history[len(history)-1]
	group := e.Regarding.Name + e.Type + e.Reason
	var similar []occurrence
	for _, other := range history {
		if other.Regarding.Name+other.Type+other.Reason != group {
			continue
		}
		if n := len(similar); n > 0 && other.at.Sub(similar[n-1].at) > 10*time.Minute {
			similar = nil
		}
		similar = append(similar, other)
	}
	var first []string
	for _, other := range similar {
		if len(first) < 9 && !slices.Contains(first, other.Note) {
			first = append(first, other.Note)
		}
	}
	if slices.Contains(first, e.Note) {
		return group + "|" + e.Action + "|" + e.Note
	}
	return group
}
