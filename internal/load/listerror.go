package load

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"

	"github.com/kctrl-dev/kctrl/internal/source"
)

var listPosition = regexp.MustCompile(`^(\S+\.(?:go|mod|sum|work)):(\d+)(?::(\d+))?: (.*)$`)

// listError says why the go command could not list packages at all.
func (p *Program) listError(ctx context.Context, mod source.Module, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	text := err.Error()
	if i := strings.Index(text, "stderr: "); i >= 0 {
		text = strings.TrimSpace(text[i+len("stderr: "):])
	}
	text = withoutHeading(text)
	if d := ListError(p.dir, mod.Dir, text, err); d != nil {
		return d
	}
	d := &diagnostic.Error{Cause: err}
	d.Message, d.Hint = p.listProblem(text)
	d.Message = "go list: " + d.Message
	return d
}

// ListError says what the go command, run in a folder, has found wrong with a file such as go.mod, by the text that it
// printed. It returns nil if the text says nothing of a file. File names are made relative to root.
func ListError(root, dir, text string, cause error) *diagnostic.Error {
	first, _, _ := strings.Cut(withoutHeading(text), "\n")
	m := listPosition.FindStringSubmatch(first)
	if m == nil {
		return nil
	}
	d := &diagnostic.Error{Pos: diagnostic.InProject(root, filepath.Join(dir, m[1])), Cause: cause}
	d.Pos.Line, _ = strconv.Atoi(m[2])
	d.Pos.Column, _ = strconv.Atoi(m[3])
	d.Message, d.Hint = (&Program{}).listProblem(m[4])
	d.Hint = cmp.Or(d.Hint, fileHint(filepath.Base(m[1]), d.Message))
	return d
}

// withoutHeading removes a line such as "go: errors parsing go.mod:", which is followed by what is wrong.
func withoutHeading(text string) string {
	if first, rest, more := strings.Cut(text, "\n"); more && strings.HasSuffix(first, ":") {
		return rest
	}
	return text
}

// fileHint says what to do about a file that the go command cannot parse.
func fileHint(name, message string) string {
	for _, conflict := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if strings.Contains(message, conflict) {
			return "resolve the merge conflict in " + name
		}
	}
	if filepath.Ext(name) == ".go" {
		return ""
	}
	return "correct the line, or restore " + name + " from version control"
}
