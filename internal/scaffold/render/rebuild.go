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

// NewProjectPlan returns an empty plan for a project, as [plan.New] does. If PROJECT.lock is missing, it rebuilds it
// from the files that are identical to what kctrl would write.
func NewProjectPlan(fsys fs.FS, proj *project.Project, kctrl project.Build) (*plan.Plan, error) {
	p := plan.New(fsys)
	return p, RebuildLock(p, proj, kctrl)
}

// RebuildLock rebuilds a missing lock. It records every file that is identical to what kctrl would write now.
// Generators record their own files when they run.
func RebuildLock(p *plan.Plan, proj *project.Project, kctrl project.Build) error {
	onDisk, err := p.HasLock()
	if err != nil || onDisk {
		return err
	}
	again, err := renderAgain(p, proj, kctrl)
	if err != nil {
		return err
	}
	for e := range again.Lock.All() {
		// RebuildLock does not record a file that it cannot read.
		if c, err := p.Lookup(e.Path); err == nil && c.Before != nil && !again.Lock.Touched(e.Path, c.Before) {
			p.Lock().Add(e)
		}
	}
	return nil
}

// renderAgain renders a project with the header on disk. It records the header if the license has the same text.
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
