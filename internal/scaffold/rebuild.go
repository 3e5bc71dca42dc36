package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// NewProjectPlan returns an empty plan for a project, as [plan.New] does. If PROJECT.lock is gone, the plan makes it anew: it
// then holds every file that is as kctrl would write it, and what the plan writes.
func NewProjectPlan(fsys fs.FS, proj *project.Project, kctrl Build) (*plan.Plan, error) {
	p := plan.New(fsys)
	return p, rebuildLock(p, proj, kctrl)
}

// rebuildLock makes a lock for a project that has lost its own: it holds every file that is as kctrl would write it now,
// but for those of generators, which record theirs when they run.
func rebuildLock(p *plan.Plan, proj *project.Project, kctrl Build) error {
	lock, onDisk, err := p.Lock()
	if err != nil || onDisk {
		return err
	}
	again, err := renderAgain(p, proj, kctrl)
	if err != nil {
		return err
	}
	for e := range again.lock.All() {
		// What cannot be read is not known to be kctrl's.
		if c, err := p.Lookup(e.Path); err == nil && c.Before != nil && !again.lock.Touched(e.Path, c.Before) {
			lock.Add(e)
		}
	}
	return nil
}

// renderAgain renders a project as it is on disk, with the header that its license has.
func renderAgain(p *plan.Plan, proj *project.Project, kctrl Build) (Tree, error) {
	header, err := fs.ReadFile(p.FS(), boilerplateFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Tree{}, diagnostic.AtFile(boilerplateFile, "cannot read", err)
	}
	env, err := envOf(p, header, kctrl)
	if err != nil {
		return Tree{}, err
	}
	tree, err := Render(proj, env)
	if err != nil {
		return Tree{lock: &project.Lock{}}, nil
	}
	license, ok := templates.Licenses()[cmp.Or(proj.License, "apache2")]
	if !ok || len(header) == 0 {
		return tree, nil
	}
	text, err := license.Render(templates.NewLicense(yearIn(env.Header), proj.Owner))
	if err == nil && bytes.Equal(text, env.Header) {
		tree.lock.Record(boilerplateFile, text, license.Source())
	}
	return tree, nil
}
