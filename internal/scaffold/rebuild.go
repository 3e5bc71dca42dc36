package scaffold

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
	"github.com/spf13/afero"
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
	again, err := scaffoldAgain(p, proj, kctrl)
	if err != nil {
		return err
	}
	for e := range again.All() {
		// What cannot be read is not known to be kctrl's.
		if c, err := p.Lookup(e.Path); err == nil && c.Before != nil && !again.Touched(e.Path, c.Before) {
			lock.Add(e)
		}
	}
	return nil
}

// scaffoldAgain makes the project in memory as it was made on disk, and returns its lock. What cannot be made again, such
// as a kind that the names of today do not allow, is not in it.
func scaffoldAgain(p *plan.Plan, proj *project.Project, kctrl Build) (*project.Lock, error) {
	memory := afero.NewMemMapFs()
	fsys := afero.NewIOFS(memory)
	header, err := fs.ReadFile(p.FS(), boilerplateFile)
	if err == nil {
		err = afero.WriteFile(memory, boilerplateFile, header, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, diagnostic.AtFile(boilerplateFile, "cannot read", err)
	}
	blank := proj.Blank()
	empty := plan.New(fsys)
	if license, ok := templates.Licenses()[cmp.Or(blank.License, "apache2")]; ok && len(header) > 0 {
		if text, err := license.Render(templates.NewLicense(yearIn(header), blank.Owner)); err == nil && bytes.Equal(text, header) {
			err = empty.Write(boilerplateFile, text, license.Source())
			if err != nil {
				return nil, err
			}
		}
	}
	err = errors.Join(
		writeProjectFiles(empty, blank, kctrl), writeModules(empty, blank, kctrl, false),
		writeRegistration(empty, blank), writeProject(empty, blank), empty.Apply(context.Background(), memory, "kctrl"),
	)
	if err != nil {
		return &project.Lock{}, nil
	}
	for _, r := range proj.Resources {
		made := *blank
		made.Resources = slices.Clone(blank.Resources)
		kind, err := PlanAPI(fsys, &made, APIOptions{
			Group: r.Group, Version: r.Version, Kind: r.Kind, Plural: r.Plural,
			Resource: r.API, Controller: r.Controller, Namespaced: r.Namespaced, Kctrl: kctrl,
		})
		if err == nil && kind.Apply(context.Background(), memory, "kctrl") == nil {
			blank = &made
		}
	}
	return project.LoadLock(fsys)
}

// yearIn returns the year of the copyright in a header, or 0.
func yearIn(header []byte) int {
	_, rest, _ := bytes.Cut(header, []byte("Copyright "))
	if len(rest) < 4 {
		return 0
	}
	year, _ := strconv.Atoi(string(rest[:4]))
	return year
}
