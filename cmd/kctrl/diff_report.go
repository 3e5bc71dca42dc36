package main

import (
	"fmt"
	"go/token"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/internal/diff"
	"github.com/kctrl-dev/kctrl/internal/diff/accept"
	"github.com/kctrl-dev/kctrl/internal/diff/change"
	"github.com/kctrl-dev/kctrl/internal/diff/witness"
)

func printDiffText(s *streams, r *diff.Report, classes []change.Class) {
	for i := range r.Findings {
		f := &r.Findings[i]
		at := ""
		if f.Pos.Filename != "" {
			at = f.Pos.String() + ": "
		}
		switch {
		case f.Accepted != nil:
			s.printf("%s%s\n  accepted until %s: %s\n", at, f.Title(), f.Accepted.Until.Format(time.DateOnly), f.Accepted.Reason)
		case !f.Counts(classes):
			s.printf("%s%s\n  breaks only: %s\n", at, f.Title(), f.Classes())
		default:
			s.printf("%s%s\n  breaks: %s\n", at, f.Title(), f.Classes())
			s.printf("%s", indented("  ", evidence(f, r)))
		}
	}
	for _, e := range r.Existing {
		s.printf("%s\n  breaks: %s\n", existing(e), e.Reason)
	}
	s.printf("%s\n", countedDiff(r, classes))
}

// evidence returns lines that describe the witness of a finding and its result.
func evidence(f *diff.Finding, r *diff.Report) string {
	var text strings.Builder
	fmt.Fprintln(&text, f.Outcome(r.Old, r.New))
	if w := f.Shown(); w != nil {
		text.WriteString(indented("  ", witnessText(w)))
		if f.Why != "" {
			fmt.Fprintln(&text, "no witness for the downgrade from "+r.Old+" to "+r.New+": "+f.Why)
		}
	}
	return text.String()
}

// longestWitness is the maximum number of printed lines of a witness.
const longestWitness = 40

// witnessText returns a witness as YAML: the object, and the object before or after the write.
func witnessText(w *witness.Witness) string {
	var text strings.Builder
	part := func(comment string, object map[string]any) {
		if object == nil {
			return
		}
		if comment != "" {
			fmt.Fprintln(&text, comment)
		}
		content, err := yaml.Marshal(object)
		if err != nil {
			content = []byte(fmt.Sprintln("#", err))
		}
		lines := strings.SplitAfter(string(content), "\n")
		if len(lines) > longestWitness {
			text.WriteString(strings.Join(lines[:longestWitness], ""))
			fmt.Fprintf(&text, "# and %d more lines, which -o json has\n", len(lines)-longestWitness)
			return
		}
		text.Write(content)
	}
	if w.Before != nil {
		part("# before the update", w.Before)
		part("# the update", w.Object)
	} else {
		part("", w.Object)
	}
	if w.Reason == "" {
		part("# becomes", w.After)
	}
	return text.String()
}

func indented(prefix, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(prefix + line)
	}
	return out.String()
}

func existing(e diff.Existing) string {
	name := e.Name
	if e.Namespace != "" {
		name = e.Namespace + "/" + name
	}
	return "object " + name + " of " + e.CRD + " on the cluster"
}

// printDiffMarkdown prints a report for a pull request.
func printDiffMarkdown(s *streams, r *diff.Report, classes []change.Class) {
	s.printf("### API changes from `%s` to `%s`\n\n%s.\n", r.Old, r.New, countedDiff(r, classes))
	if len(r.Findings) > 0 {
		s.printf("\n| change | breaks | where |\n|---|---|---|\n")
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		breaks := f.Classes()
		if f.Counts(classes) {
			breaks = "**" + breaks + "**"
		} else if f.Accepted != nil {
			breaks += fmt.Sprintf(", accepted until %s: %s", f.Accepted.Until.Format(time.DateOnly), f.Accepted.Reason)
		}
		s.printf("| %s | %s | %s |\n", tableCell(f.Title()), tableCell(breaks), tableCell(place(f.Pos)))
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Counts(classes) {
			printDiffDetails(s, r, f)
		}
	}
	if len(r.Existing) > 0 {
		s.printf("\n| object on the cluster | breaks |\n|---|---|\n")
	}
	for _, e := range r.Existing {
		s.printf("| %s | %s |\n", tableCell(existing(e)), tableCell(e.Reason))
	}
}

func printDiffDetails(s *streams, r *diff.Report, f *diff.Finding) {
	s.printf("\n<details><summary>%s</summary>\n\n", escapeHTML(f.Title()))
	w := f.Shown()
	if w == nil {
		s.printf("No witness: %s.\n\n</details>\n", f.Why)
		return
	}
	s.printf("%s:\n\n```yaml\n%s```\n\n</details>\n", escapeHTML(f.Outcome(r.Old, r.New)), witnessText(w))
}

func escapeHTML(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ").Replace(text)
}

// tableCell escapes a text for a table.
func tableCell(text string) string { return strings.ReplaceAll(escapeHTML(text), "|", "\\|") }

func place(pos token.Position) string {
	if pos.Filename == "" {
		return ""
	}
	return "`" + pos.String() + "`"
}

// diffJSON is a report in the format of -o json.
type diffJSON struct {
	Old      string          `json:"old"`
	New      string          `json:"new"`
	CRDs     int             `json:"crds"`
	Breaking int             `json:"breaking"`
	Changes  []changeJSON    `json:"changes"`
	Existing []diff.Existing `json:"existing,omitempty"`
	// Diagnostics are the errors of files that could not be compared.
	Diagnostics []finding `json:"diagnostics,omitempty"`
}

type changeJSON struct {
	diff.Finding
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	// Counts reports whether the change causes exit code 3.
	Counts   bool          `json:"counts"`
	Accepted *acceptedJSON `json:"accepted,omitempty"`
	Expired  *acceptedJSON `json:"expired,omitempty"`
}

type acceptedJSON struct {
	Reason string `json:"reason"`
	Until  string `json:"until"`
}

func newAcceptedJSON(e *accept.Entry) *acceptedJSON {
	if e == nil {
		return nil
	}
	return &acceptedJSON{e.Reason, e.Until.Format(time.DateOnly)}
}

func newDiffJSON(r *diff.Report, classes []change.Class) diffJSON {
	out := diffJSON{Old: r.Old, New: r.New, CRDs: r.CRDs, Breaking: r.Breaking(classes), Changes: []changeJSON{},
		Existing: r.Existing}
	for _, f := range r.Findings {
		out.Changes = append(out.Changes, changeJSON{
			Finding: f, File: f.Pos.Filename, Line: f.Pos.Line, Column: f.Pos.Column, Counts: f.Counts(classes),
			Accepted: newAcceptedJSON(f.Accepted), Expired: newAcceptedJSON(f.Expired),
		})
	}
	for _, err := range r.Errs {
		out.Diagnostics = append(out.Diagnostics, newFinding(err, severityError))
	}
	return out
}
