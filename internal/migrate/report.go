package migrate

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Left is something that the tool leaves to the author.
type Left struct {
	// File and Line say where it is now, Code what stands there.
	File string `json:"file"`
	Line int    `json:"line"`
	Code string `json:"code,omitempty"`
	// Reason says why it is left. What is left to do has a Snippet, which is what to write, or a Command, which is what to run.
	Reason  string `json:"reason"`
	Snippet string `json:"snippet,omitempty"`
	Command string `json:"command,omitempty"`
	// Rewritten says that it was rewritten, and is only worth a look.
	Rewritten bool `json:"rewritten,omitempty"`
	// Broken says that it does not compile.
	Broken bool `json:"broken,omitempty"`
}

// Report says what became of a project.
type Report struct {
	// Files and Lines count the Go code that was rewritten, Lines those that are new or other than before.
	Files int `json:"files"`
	Lines int `json:"lines"`
	// Uses counts the references to controller-runtime and the libraries around it, UsesLeft those that were not rewritten or do not
	// compile.
	Uses     int `json:"uses"`
	UsesLeft int `json:"usesLeft"`
	// Checked says that the result was compiled; Unchecked why not.
	Checked   bool   `json:"checked"`
	Unchecked string `json:"unchecked,omitempty"`
	// Left is what is left to the author, by file and line.
	Left []Left `json:"left"`
}

// Rewritten returns the share of references that were rewritten, in percent.
func (r *Report) Rewritten() float64 {
	if r.Uses == 0 {
		return 100
	}
	return 100 * float64(r.Uses-r.UsesLeft) / float64(r.Uses)
}

// Open returns what is left to do, without what is only worth a look.
func (r *Report) Open() []Left {
	return slices.DeleteFunc(slices.Clone(r.Left), func(l Left) bool { return l.Rewritten })
}

func (r *Report) sort() {
	slices.SortStableFunc(r.Left, func(a, b Left) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Reason, b.Reason))
	})
	r.Left = slices.CompactFunc(r.Left, func(a, b Left) bool { return a.File == b.File && a.Line == b.Line && a.Reason == b.Reason })
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	share := fmt.Sprintf("%d of %d references to controller-runtime, logr and recorders (%.1f %%)", r.Uses-r.UsesLeft, r.Uses, r.Rewritten())
	if r.Unchecked != "" && r.Uses > 0 && r.UsesLeft == r.Uses {
		share = fmt.Sprintf("how many of %d references to controller-runtime, logr and recorders is not known, as it was not compiled", r.Uses)
	}
	fmt.Fprintf(w, "%d lines of %d Go files rewritten: %s\n", r.Lines, r.Files, share)
	open := r.Open()
	printLeft(w, fmt.Sprintf("left to do: %d", len(open)), open)
	look := slices.DeleteFunc(slices.Clone(r.Left), func(l Left) bool { return !l.Rewritten })
	printLeft(w, fmt.Sprintf("worth a look: %d", len(look)), look)
	switch {
	case !r.Checked:
		fmt.Fprintf(w, "not compiled: %s\n", r.Unchecked)
	case !slices.ContainsFunc(r.Left, func(l Left) bool { return l.Broken }):
		fmt.Fprintf(w, "all packages and tests compile\n")
	}
}

func printLeft(w io.Writer, title string, list []Left) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "%s\n", title)
	for _, l := range list {
		where := l.File
		if l.Line > 0 {
			where = fmt.Sprintf("%s:%d", l.File, l.Line)
		}
		fmt.Fprintf(w, "  %s: %s\n", where, l.Reason)
		if l.Snippet != "" {
			fmt.Fprintf(w, "    write: %s\n", strings.ReplaceAll(l.Snippet, "\n", "\n           "))
		}
		if l.Command != "" {
			fmt.Fprintf(w, "    run: %s\n", l.Command)
		}
	}
}
