package upgrade

import (
	"bytes"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// isOfThisKctrl reports whether this release of kctrl wrote the project's files. It is false for development builds.
func (u *upgrade) isOfThisKctrl() bool {
	name := u.options.Kctrl.Name()
	return name != orDevel("") && name == u.project.Kctrl
}

// noteKept notes types and samples whose templates have changed, once for each change. It omits second and later
// versions, whose files were copied from the first version.
func (u *upgrade) noteKept() error {
	if u.isOfThisKctrl() {
		return nil
	}
	var names []string
	for _, o := range render.Kinds(u.project, "") {
		if _, further := layout.VersionBefore(u.project, o.Resource); further || !o.API {
			continue
		}
		for _, name := range []string{templates.Types().Path(o.View), templates.Sample().Path(o.View)} {
			newer, err := u.hasNewerTemplate(name)
			if err != nil {
				return err
			}
			if newer {
				names = append(names, name)
			}
		}
	}
	if len(names) > 0 {
		u.note("", "types and samples are yours and stay as they are; the templates of these have changed: "+
			strings.Join(names, ", "), compareThemHint)
	}
	return nil
}

// hasNewerTemplate reports whether the template of a user's file has changed since the last note, and records the note.
// It ignores the marker of the storage version, which other commands add and remove.
func (u *upgrade) hasNewerTemplate(name string) (bool, error) {
	lock := u.plan.Lock()
	now, made := u.now.Lock.Entry(name)
	_, known := lock.Entry(name)
	ours, err := u.plan.ReadIfExists(name)
	if !made || !known || ours == nil || err != nil {
		return false, err // the user's own file, or deleted
	}
	theirs := u.now.Contents[name]
	for _, text := range [][]byte{theirs, withoutLine(theirs, "// "+render.StorageMarker)} {
		same, err := u.isOfTemplate(name, ours, text)
		if same || err != nil {
			return false, err
		}
	}
	lock.Offer(name, theirs, now.Template)
	return true, nil
}

// isOfTemplate reports whether kctrl once wrote a file from the current template. It ignores the header of a Go file.
func (u *upgrade) isOfTemplate(name string, ours, theirs []byte) (bool, error) {
	lock := u.plan.Lock()
	if !lock.Touched(name, theirs) || bytes.Equal(edit.Plain(ours), theirs) {
		return true, nil
	}
	header, err := templated.GoHeader(u.plan)
	code, found := bytes.CutPrefix(theirs, []byte(header))
	if err != nil || !found || path.Ext(name) != ".go" {
		return false, err
	}
	for old := range headers(edit.Plain(ours)) {
		if !lock.Touched(name, slices.Concat(old, code)) {
			return true, nil
		}
	}
	base, _, err := sync.NewBases(u.plan, u.options.Base).Of(lock.Entries(name), ours)
	old, found := bytes.CutSuffix(base, code)
	return err == nil && found && (len(old) == 0 || bytes.HasSuffix(old, []byte("\n\n"))), err
}

// headers yields the possible headers of a Go file: the empty text, and the text up to each empty line before the
// package clause.
func headers(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		end := 0
		for line := range bytes.Lines(text) {
			atStart := end == 0 || bytes.HasSuffix(text[:end], []byte("\n\n"))
			if atStart && !yield(text[:end]) || bytes.HasPrefix(line, []byte("package ")) {
				return
			}
			end += len(line)
		}
	}
}

// withoutLine returns a text without the lines that are equal to the given line.
func withoutLine(text []byte, line string) []byte {
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"),
		func(l string) bool { return strings.TrimSpace(l) == line })
	return []byte(strings.Join(lines, ""))
}
