package release

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// folder plans the files of one that is released, such as a chart. Those that somebody has edited stay as they are.
type folder struct {
	plan     *plan.Plan
	dir      string // relative to the project
	template string // what PROJECT.lock calls its files
	force    bool   // to replace what was edited
	written  map[string]bool
}

func newFolder(p *plan.Plan, dir, template string, force bool) *folder {
	return &folder{plan: p, dir: dir, template: template, force: force, written: map[string]bool{}}
}

// put plans a file that stays as it is once somebody has edited it.
func (f *folder) put(name string, content []byte) error {
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
		f.plan.Note(&diagnostic.Error{
			Pos:     token.Position{Filename: file},
			Message: "was edited, and stays as it is",
			Hint:    "remove it to have it written anew",
		})
		return nil
	}
	return write(f.plan, plan.File{Path: file, Content: content, Template: f.template, Force: f.force})
}

// edited reports whether a file is there that is not as kctrl has left it.
func (f *folder) edited(file string) (bool, error) {
	content, err := f.plan.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lock, _, err := f.plan.Lock()
	if err != nil {
		return false, err
	}
	return lock.Touched(file, content), nil
}

// sweep takes away the files below a folder of it that kctrl has written for objects that are gone, but for those that were edited.
func (f *folder) sweep(below string) error {
	lock, _, err := f.plan.Lock()
	if err != nil {
		return err
	}
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
			f.plan.Note(&diagnostic.Error{
				Pos: token.Position{Filename: file}, Message: "is for an object that is gone, and stays, since it was edited",
				Hint: "remove it if it should not be there",
			})
			continue
		}
		if err := f.plan.Delete(file); err != nil {
			return err
		}
	}
	return nil
}

// semantic returns a version without the v that it may begin with.
func semantic(version string) (string, error) {
	v := "v" + strings.TrimPrefix(version, "v")
	if version != "" && semver.Canonical(v)+semver.Build(v) != v {
		return "", &diagnostic.Error{Message: "--version " + diagnostic.Quote(version) + " is no semantic version, such as 1.2.3", Class: diagnostic.ErrUsage}
	}
	return v[1:], nil
}

// write plans a file, unless kctrl has written one there that is for something else.
func write(p *plan.Plan, f plan.File) error {
	lock, _, err := p.Lock()
	if err != nil {
		return err
	}
	if have, ok := lock.Entry(path.Clean(f.Path)); ok && have.Template != f.Template {
		return &diagnostic.Error{
			Pos:     token.Position{Filename: f.Path},
			Message: "is a file of the project, which " + have.Template + " has made",
			Hint:    "name a file or folder that is not there yet",
		}
	}
	return p.WriteFile(f)
}
