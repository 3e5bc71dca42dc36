package scaffold

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

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
	replayKinds(memory, blank, proj, kctrl)
	return project.LoadLock(fsys)
}

// replayKinds adds the kinds of a project to one in memory, as far as that can be done, and returns it.
func replayKinds(memory afero.Fs, blank, proj *project.Project, kctrl Build) *project.Project {
	fsys := afero.NewIOFS(memory)
	try := func(command func(*project.Project) (*plan.Plan, error)) {
		made := *blank
		made.Resources = slices.Clone(blank.Resources)
		p, err := command(&made)
		if err == nil && p.Apply(context.Background(), memory, "kctrl") == nil {
			blank = &made
		}
	}
	for _, r := range proj.Resources {
		if r.API {
			try(func(made *project.Project) (*plan.Plan, error) {
				return PlanAPI(fsys, made, APIOptions{
					Group: r.Group, Version: r.Version, Kind: r.Kind, Plural: r.Plural, NoConversion: true,
					Resource: true, Controller: r.Controller, Namespaced: r.Namespaced, Kctrl: kctrl,
				})
			})
		}
	}
	for _, r := range proj.Resources {
		names := slices.Clone(r.Controllers)
		if r.Controller && !r.API {
			names = append(names, "")
		}
		for _, name := range names {
			try(func(made *project.Project) (*plan.Plan, error) {
				opts := ControllerOptions{
					Group: r.Group, Version: r.Version, Kind: r.Kind, Plural: r.Plural, Name: name, Domain: r.Domain, Path: r.Path,
					Namespaced: r.Namespaced, Kctrl: kctrl,
				}
				if r.Path == "" {
					opts.Domain = ""
				} else if strings.HasPrefix(r.Path, "k8s.io/api/") {
					opts.Path, opts.Group = "", cmp.Or(r.Group, "core")
				}
				return PlanController(fsys, made, opts)
			})
		}
	}
	for _, r := range proj.Resources {
		var spokes []string
		for _, spoke := range spokesOf(proj, r) {
			spokes = append(spokes, spoke.Version)
		}
		if r.Defaulting || r.Validation || len(spokes) > 0 {
			try(func(made *project.Project) (*plan.Plan, error) {
				return PlanWebhook(fsys, made, WebhookOptions{
					Group: r.Group, Version: r.Version, Kind: r.Kind, Defaulting: r.Defaulting, Validation: r.Validation,
					Conversion: len(spokes) > 0, Spokes: spokes, Certificates: proj.Certificates, Kctrl: kctrl,
				})
			})
		}
	}
	return blank
}

// replay makes a project in memory as the commands of today would, with a header for its Go files. What they cannot make again, such as
// a controller for a kind of somebody else, is not in it.
func replay(proj *project.Project, kctrl Build, header []byte) (*project.Lock, fs.FS, error) {
	memory := afero.NewMemMapFs()
	fsys := afero.NewIOFS(memory)
	if err := afero.WriteFile(memory, boilerplateFile, header, 0o644); err != nil {
		return nil, nil, err
	}
	blank, empty := proj.Blank(), plan.New(fsys)
	blank.Certificates = ""
	err := errors.Join(
		writeProjectFiles(empty, blank, kctrl), writeModules(empty, blank, kctrl, false),
		writeRegistration(empty, blank), writeProject(empty, blank), empty.Apply(context.Background(), memory, "kctrl"),
	)
	if err != nil {
		return nil, nil, err
	}
	replayKinds(memory, blank, proj, kctrl)
	lock, err := project.LoadLock(fsys)
	return lock, fsys, err
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
