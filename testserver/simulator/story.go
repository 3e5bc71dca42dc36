package simulator

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// before is the number of writes that a story shows before the first fault.
const before = 3

// WriteStory writes what happened in a failed run, for people.
func (f *Failure) WriteStory(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: %s\n", name, f.Title())
	for _, fault := range f.Plan.Faults {
		fmt.Fprintf(w, "  fault  %s\n", fault)
	}
	if f.Plan.Then != "" {
		fmt.Fprintf(w, "  then   the user deletes the objects, when the operator is at rest\n")
	}
	for _, v := range f.Violations {
		fmt.Fprintf(w, "  %s: %s\n", v.Invariant, v.Message)
		if v.Call != nil && v.Call.Source != "" {
			fmt.Fprintf(w, "    at %s", v.Call.Source)
			if v.Call.Request != "" {
				fmt.Fprintf(w, ", in the reconcile of %s", v.Call.Request)
			}
			fmt.Fprintln(w)
		}
	}
	fmt.Fprintln(w, "  what happened:")
	for _, line := range f.timeline() {
		fmt.Fprintf(w, "    %s\n", line)
	}
	for _, line := range f.Result.Logs[:min(3, len(f.Result.Logs))] {
		fmt.Fprintf(w, "    log %s\n", line)
	}
}

// Title is the first violated invariant in a sentence.
func (f *Failure) Title() string {
	name := f.Violations[0].Invariant
	i := slices.IndexFunc(Invariants, func(i Invariant) bool { return i.Name == name })
	return "violates \"" + Invariants[i].Rule + "\""
}

// timeline returns the writes and faults of a run in order, from shortly before the first fault.
func (f *Failure) timeline() []string {
	type entry struct {
		at   time.Duration
		text string
	}
	var all []entry
	first := -1
	for _, call := range f.Result.Calls {
		text := fmt.Sprintf("%-10s %s: %s", call.Process, call.Target, outcome(call))
		if call.Fault != "" {
			text += "  <- " + kinds[Kind(call.Fault)].does
			if first < 0 {
				first = len(all)
			}
		}
		if call.Behind > 0 {
			text += fmt.Sprintf("  (%d events behind)", call.Behind)
		}
		all = append(all, entry{call.Time, text})
	}
	for _, event := range f.Result.Events {
		if event.Fault != "" {
			all = append(
				all,
				entry{event.Time, fmt.Sprintf("%-10s %s  <- %s", event.Process, event.Target, kinds[Kind(event.Fault)].does)},
			)
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int { return int(a.at - b.at) })
	if first < 0 {
		first = len(all)
	}
	var lines []string
	for i, e := range all {
		if i >= first-before-len(f.Result.Events) && len(lines) < 40 {
			lines = append(lines, fmt.Sprintf("%9s  %s", e.at.Round(time.Millisecond), e.text))
		}
	}
	return lines
}

func outcome(c *Call) string {
	switch {
	case c.Status == 0:
		return "no answer"
	case c.Status >= 300:
		return fmt.Sprintf("%d %s", c.Status, strings.TrimSpace(c.Message))
	case !c.Changed:
		return "no change"
	}
	return "done"
}
