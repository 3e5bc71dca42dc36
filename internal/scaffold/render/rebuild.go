package render

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// NewProjectPlan returns an empty plan for a project, as [plan.New] does. If PROJECT.lock is gone, the plan makes it
// anew: it then holds every file that is as kctrl would write it, and what the plan writes.
func NewProjectPlan(fsys fs.FS, proj *project.Project, kctrl project.Build) (*plan.Plan, error) {
	p := plan.New(fsys)
	return p, RebuildLock(p, proj, kctrl)
}

// RebuildLock makes a lock for a project that has lost its own: it holds every file that is as kctrl would write it
// now, but for those of generators, which record theirs when they run.
func RebuildLock(p *plan.Plan, proj *project.Project, kctrl project.Build) error {
	lock, onDisk, err := p.Lock()
	if err != nil || onDisk {
		return err
	}
	again, err := renderAgain(p, proj, kctrl)
	if err != nil {
		return err
	}
	for e := range again.Lock.All() {
		// What cannot be read is not known to be kctrl's.
		if c, err := p.Lookup(e.Path); err == nil && c.Before != nil && !again.Lock.Touched(e.Path, c.Before) {
			lock.Add(e)
		}
	}
	return nil
}

// renderAgain renders a project as it is on disk, with the header that its license has.
func renderAgain(p *plan.Plan, proj *project.Project, kctrl project.Build) (Tree, error) {
	header, err := fs.ReadFile(p.FS(), layout.BoilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Tree{}, diagnostic.AtFile(layout.BoilerplateFile, "cannot read", err)
	}
	env, err := EnvOf(p, header, kctrl)
	if err != nil {
		return Tree{}, err
	}
	tree, err := Render(proj, env)
	if err != nil {
		return Tree{Lock: &project.Lock{}}, nil
	}
	license, ok := templates.Licenses()[cmp.Or(proj.License, "apache2")]
	if !ok || len(header) == 0 {
		return tree, nil
	}
	text, err := license.Render(templates.NewLicense(templated.YearIn(env.Header), proj.Owner))
	if err == nil && bytes.Equal(text, env.Header) {
		tree.Lock.Record(layout.BoilerplateFile, text, license.Source())
	}
	return tree, nil
}
