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
	// A builder never fails.
	_ = difflib.WriteUnifiedDiff(&out, difflib.UnifiedDiff{
		A: diffLines(c.Before), FromFile: from, B: diffLines(c.After), ToFile: to, Context: diffContext,
	})
	return out.String()
}

// gitMode returns the mode that git records for a file, which depends only on whether the file is executable.
func gitMode(c Change) string {
	if c.Mode&0o100 != 0 {
		return "100755"
	}
	return "100644"
}

// diffLines returns the lines of a text. If the last line has no line end, git's note about that follows it.
func diffLines(content []byte) []string {
	var lines []string
	for line := range strings.Lines(string(content)) {
		if !strings.HasSuffix(line, "\n") {
			line += "\n\\ No newline at end of file\n"
		}
		lines = append(lines, line)
	}
	return lines
}

func isText(content []byte) bool {
	return utf8.Valid(content) && !bytes.ContainsRune(content, 0)
}
