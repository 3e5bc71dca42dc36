package simulator

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// before is the number of writes that a story shows before the first fault.
const before = 3

// mostLines is the maximum number of timeline entries in a story.
const mostLines = 40

// mostAlike is the maximum number of timeline entries for the same request with the same outcome.
const mostAlike = 3

// mostText is the maximum length of messages and log values in a story, in bytes.
const mostText = 200

// shorten returns the first line of a string, cut after mostText bytes.
func shorten(text string) string {
	line, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > mostText {
		line, more = strings.ToValidUTF8(line[:mostText], ""), true
	}
	if more {
		line += "..."
	}
	return line
}

// WriteStory writes a description of a failed run.
func (f *Failure) WriteStory(w io.Writer, name string) {
	fmt.Fprintf(w, "%s: %s\n", name, f.Title())
	for _, fault := range f.Plan.Faults {
		fmt.Fprintf(w, "  fault  %s\n", fault)
	}
	if f.Plan.Create != "" {
		fmt.Fprintf(w, "  first  %s\n", kinds[f.Plan.Create].does)
	}
	if f.Plan.Then != "" {
		what, _, _ := strings.Cut(kinds[f.Plan.Then].does, " before this write")
		fmt.Fprintf(w, "  then   %s, when the operator is at rest\n", what)
	}
	if f.Plan.Resync {
		fmt.Fprintf(w, "  then   %s, when the operator is at rest\n", resyncs)
	}
	if f.Plan.Change != nil {
		fmt.Fprintf(w, "  change %s\n", f.Plan.Change)
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
	for _, line := range f.lines() {
		fmt.Fprintf(w, "    %s\n", line)
	}
	if f.Similar > 0 {
		fmt.Fprintf(w, "  %d further plans fail for the same cause\n", f.Similar)
	}
	for _, other := range f.Also {
		fmt.Fprintf(w, "    also with %s: %s\n", other.class(), other.describe())
	}
	for _, line := range f.logs() {
		fmt.Fprintf(w, "    log %s\n", line)
	}
}

// mostLogs is the maximum number of log lines in a story.
const mostLogs = 3

// logs returns the first lines of the log, without lines that repeat an earlier one except for its numbers.
func (f *Failure) logs() []string {
	var lines []string
	seen := map[string]bool{}
	for _, line := range f.Result.Logs {
		_, text, _ := strings.Cut(line, " ")
		if text = numbers.ReplaceAllString(text, "#"); !seen[text] && len(lines) < mostLogs {
			seen[text] = true
			lines = append(lines, line)
		}
	}
	return lines
}

// Title returns a phrase with the first violated invariant.
func (f *Failure) Title() string {
	name := f.Violations[0].Invariant
	if i := slices.IndexFunc(Invariants, func(i Invariant) bool { return i.Name == name }); i >= 0 {
		name = Invariants[i].Rule
	}
	return "violates \"" + name + "\""
}

// lines returns the entries of the timeline, from shortly before the first fault.
func (f *Failure) lines() []string {
	all := f.Timeline()
	first := slices.IndexFunc(all, func(e Entry) bool {
		return e.Fault != "" || f.Result.began > 0 && e.Time >= f.Result.began
	})
	if first < 0 {
		first = len(all)
	}
	var lines []string
	seen, again := map[Entry]int{}, 0
	for _, e := range all[max(0, first-before-len(f.Result.Events)):] {
		same := Entry{Process: e.Process, Text: e.Text, Outcome: e.Outcome, Fault: e.Fault}
		if seen[same]++; seen[same] > mostAlike {
			again++
		} else if len(lines) < mostLines {
			lines = append(lines, e.line())
		}
	}
	if again > 0 {
		lines = append(lines, fmt.Sprintf("%d further requests like those above", again))
	}
	return lines
}

func outcome(c *Call) string {
	switch {
	case c.Status == 0:
		return "no answer"
	case c.Status >= 300:
		return fmt.Sprintf("%d %s", c.Status, shorten(c.Message))
	case !c.Changed:
		return "no change"
	}
	return "done"
}
