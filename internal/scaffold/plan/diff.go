package plan

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"
)

// diffContext is the number of unchanged lines around a change.
const diffContext = 3

// Diff returns the changes as one unified diff in git's format, ordered by path, for "git apply". For binary files it
// contains only the names. For an empty plan it is an empty string.
func (p *Plan) Diff() string {
	var out strings.Builder
	for c := range p.Changes() {
		out.WriteString(c.Diff())
	}
	return out.String()
}

// Diff returns the change as a unified diff; see [Plan.Diff].
func (c Change) Diff() string {
	var out strings.Builder
	from, to := "a/"+c.Path, "b/"+c.Path
	fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
	switch c.Op {
	case Create:
		fmt.Fprintf(&out, "new file mode %s\n", gitMode(c))
		from = "/dev/null"
	case Delete:
		fmt.Fprintf(&out, "deleted file mode %s\n", gitMode(c))
		to = "/dev/null"
	}
	if !isText(c.Before) || !isText(c.After) {
		fmt.Fprintf(&out, "Binary files %s and %s differ\n", from, to)
		return out.String()
	}
	writeHunks(&out, from, to, splitLines(c.Before), splitLines(c.After))
	return out.String()
}

// gitMode returns the mode that git records for a file, which depends only on whether the file is executable.
func gitMode(c Change) string {
	if c.Mode&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

func writeHunks(out *strings.Builder, from, to string, a, b []string) {
	for i, group := range difflib.NewMatcher(a, b).GetGroupedOpCodes(diffContext) {
		if i == 0 {
			fmt.Fprintf(out, "--- %s\n+++ %s\n", from, to)
		}
		first, last := group[0], group[len(group)-1]
		fmt.Fprintf(out, "@@ -%s +%s @@\n", lineRange(first.I1, last.I2), lineRange(first.J1, last.J2))
		for _, op := range group {
			if op.Tag == 'e' {
				writeLines(out, " ", a[op.I1:op.I2])
				continue
			}
			writeLines(out, "-", a[op.I1:op.I2])
			writeLines(out, "+", b[op.J1:op.J2])
		}
	}
}

func writeLines(out *strings.Builder, prefix string, lines []string) {
	for _, line := range lines {
		out.WriteString(prefix)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// lineRange returns the range of lines from start to stop in the form of a unified diff. start and stop count from 0,
// and stop is exclusive.
func lineRange(start, stop int) string {
	switch stop - start {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprint(start + 1)
	}
	return fmt.Sprintf("%d,%d", start+1, stop-start)
}

func splitLines(content []byte) []string {
	lines := strings.SplitAfter(string(content), "\n")
	return lines[:len(lines)-btoi(lines[len(lines)-1] == "")]
}

func isText(content []byte) bool {
	return utf8.Valid(content) && !bytes.ContainsRune(content, 0)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
