package simulator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Entry is a request or an event in the timeline of a failure.
type Entry struct {
	Time    time.Duration `json:"time"` // since the start of the run
	Process string        `json:"process"`
	Text    string        `json:"text"`
	Outcome string        `json:"outcome,omitempty"` // of a request
	Fault   string        `json:"fault,omitempty"`   // description of the injected fault
	Behind  int           `json:"behind,omitempty"`  // number of events that the process had not received yet
	Source  string        `json:"source,omitempty"`  // the line of the operator's code
	Request string        `json:"request,omitempty"` // the reconcile that sent it
}

// Timeline returns the writes of a run and the events with a fault, ordered by time.
func (f *Failure) Timeline() []Entry {
	var all []Entry
	for _, c := range f.Result.Calls {
		all = append(all, Entry{
			c.Time, c.Process, c.Target, outcome(c), kinds[Kind(c.Fault)].does, c.Behind, c.Source, c.Request,
		})
	}
	for _, e := range f.Result.Events {
		if e.Fault != "" {
			all = append(all, Entry{Time: e.Time, Process: e.Process, Text: e.Target, Fault: kinds[Kind(e.Fault)].does})
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return cmp.Compare(a.Time, b.Time) })
	return all
}

// Difference is a field or a number of objects that, at the end, differs from the run without faults.
type Difference struct {
	Object string `json:"object"`
	Field  string `json:"field,omitempty"` // empty: the number of objects with this name differs
	Want   string `json:"want"`
	Got    string `json:"got"`
}

// mostDifferences is the maximum number of differences of a failure.
const mostDifferences = 20

// Differences compares the end state of a run with the reference.
func (f *Failure) Differences(reference *Reference) []Difference {
	var all []Difference
	for d := range differences(reference.want(f.Plan), f.Result.state, maps.Clone(reference.masks)) {
		all = append(all, Difference{d.object, d.field, inJSON(d.want), inJSON(d.got)})
		if len(all) == mostDifferences {
			break
		}
	}
	return all
}

// line returns the entry as a line of a story.
func (e Entry) line() string {
	text := fmt.Sprintf("%9s  %-10s %s", e.Time.Round(time.Millisecond), e.Process, e.Text)
	if e.Outcome != "" {
		text += ": " + e.Outcome
	}
	if e.Fault != "" {
		text += "  <- " + e.Fault
	}
	if e.Behind > 0 {
		text += fmt.Sprintf("  (%d events behind)", e.Behind)
	}
	return text
}
