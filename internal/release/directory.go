package release

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// directory plans the files of a released directory, such as a chart. It keeps edited files.
type directory struct {
	plan     *plan.Plan
	dir      string // relative to the project
	template string // template in PROJECT.lock
	force    bool   // replace edited files
	written  map[string]bool
}

// put plans a file, unless it was edited.
func (f *directory) put(name string, content []byte) error {
	file := path.Join(f.dir, name)
	f.written[file] = true
	edited, err := f.edited(file)
	if err != nil {
		return err
	}
	if edited && !f.force {
		if have, err := f.plan.Read(file); err != nil || bytes.Equal(have, content) {
			return err
		}
		f.plan.Note(diagnostic.In(file, "was edited, so it is not updated", "delete it to generate it again"))
		return nil
	}
	return write(f.plan, plan.File{Path: file, Content: content, Template: f.template, Force: f.force})
}

// edited reports whether a file exists and differs from kctrl's output.
func (f *directory) edited(file string) (bool, error) {
	content, err := f.plan.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lock := f.plan.Lock()
	return lock.Touched(file, content), nil
}

// sweep deletes generated files below a directory if their objects no longer exist. It keeps edited files.
func (f *directory) sweep(below string) error {
	lock := f.plan.Lock()
	var gone []string
	for e := range lock.All() {
		if e.Template == f.template && strings.HasPrefix(e.Path, path.Join(f.dir, below)+"/") && !f.written[e.Path] {
			gone = append(gone, e.Path)
		}
	}
	for _, file := range gone {
		edited, err := f.edited(file)
		if err != nil {
			return err
		}
		if edited && !f.force {
			f.plan.Note(diagnostic.In(file, "belongs to a removed object, but was edited, so it is not deleted",
				"delete it if it is not needed"))
			continue
		}
		if err := f.plan.Delete(file); err != nil {
			return err
		}
	}
	return nil
}

// semantic returns a semantic version without a leading v.
func semantic(version string) (string, error) {
	v := "v" + strings.TrimPrefix(version, "v")
	if version != "" && semver.Canonical(v)+semver.Build(v) != v {
		return "", &diagnostic.Error{Message: "--version " + diagnostic.Quote(version) +
			" is not a semantic version such as 1.2.3", Class: diagnostic.ErrUsage}
	}
	return v[1:], nil
}

// write plans a file. It returns an error if kctrl wrote the existing file at the path for another purpose.
func write(p *plan.Plan, f plan.File) error {
	lock := p.Lock()
	if have, ok := lock.Entry(path.Clean(f.Path)); ok && have.Template != f.Template {
		return diagnostic.In(f.Path, "is a file of the project, which "+have.Template+" has made",
			"choose a new file or directory")
	}
	return p.WriteFile(f)
}
