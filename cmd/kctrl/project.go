package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/doctor"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// openedProject is the project in the directory of a command, with the changes that the command plans. The caller must
// close it.
type openedProject struct {
	io.Closer
	*project.Project // nil if the command does not need a PROJECT file
	fsys             fs.FS
	dir              string // absolute
	// plan has the changes. The output suggests the commands in next.
	plan *plan.Plan
	next []string
	// print prints the result. Nil means the notes of the plan and printDone.
	print func() error
}

// opener reads the PROJECT file of a directory.
type opener func(fs.FS) (*project.Project, error)

// anyDirectory is the opener of commands that do not need a PROJECT file.
func anyDirectory(fs.FS) (*project.Project, error) { return nil, nil }

// foreign is the opener of commands that only generate files, and therefore also work in projects of other tools. named
// is true if the user specified the packages to read.
func foreign(named bool) opener {
	return func(fsys fs.FS) (*project.Project, error) { return project.LoadForeign(fsys, named) }
}

// open opens the project in the directory of the command, and warns about unknown fields in its PROJECT file.
func (s *streams) open(load opener) (*openedProject, error) {
	dir, err := s.absolute()
	if err != nil {
		return nil, err
	}
	root, err := transaction.Open(s.dir)
	if err != nil {
		return nil, err
	}
	fsys := afero.NewIOFS(root)
	proj, err := load(fsys)
	if err != nil {
		root.Close()
		return nil, err
	}
	if proj != nil {
		for _, warning := range proj.Warnings() {
			s.problem("warning: ", warning)
		}
	}
	return &openedProject{Closer: root, Project: proj, fsys: fsys, dir: dir}, nil
}

// absolute returns the absolute path of the directory of a command.
func (s *streams) absolute() (string, error) {
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return "", diagnostic.Because(err, "cannot find the working directory",
			"change to an existing directory, or use -C with an absolute path")
	}
	return dir, nil
}

// startPlan starts an empty plan. If kctrl created the project, the plan also updates PROJECT.lock.
func (p *openedProject) startPlan() (err error) {
	p.plan = plan.NewWithoutLock(p.fsys)
	if p.Project != nil && !p.Foreign {
		p.plan, err = render.NewProjectPlan(p.fsys, p.Project, kctrlBuild())
	}
	return err
}

// generate runs the generators and adds their output to the plan.
func (p *openedProject) generate(ctx context.Context, o generate.Options) error {
	return generate.Run(ctx, p.dir, p.plan, p.Project, o)
}

// follows selects the generators that run after a kind or a controller is created.
func follows(g generator.Generator) bool { return g.Follows }

// regenerate runs all generators for a command that removes or changes parts of a project, and adds their output to the
// plan. It returns errors about kustomizations that would no longer build; with force, it notes them.
func (p *openedProject) regenerate(ctx context.Context, force bool) error {
	if err := p.generate(ctx, generate.Options{Generators: generate.Named(ofProjects)}); err != nil {
		return p.onDisk(ctx, err)
	}
	p.next = []string{"make test"}
	var errs []error
	notes := p.plan.Notes()
	for _, e := range doctor.Unbuilt(p.plan, p.dir) {
		isOfFile := func(note *diagnostic.Error) bool { return note.Pos.Filename == e.Pos.Filename }
		switch {
		case !force:
			e.Hint = "remove or change this first, or use --force to change it afterwards"
			errs = append(errs, e)
		case !slices.ContainsFunc(notes, isOfFile): // such as the note of a conflict
			p.plan.Note(e)
		}
	}
	return errors.Join(errs...)
}

// onDisk returns the errors of the generators for the project on disk, if the generators already fail there. Otherwise
// it returns err with the paths that files have on disk.
func (p *openedProject) onDisk(ctx context.Context, err error) error {
	before, failure := project.Load(p.fsys)
	current := openedProject{Project: before, fsys: p.fsys, dir: p.dir}
	if failure == nil {
		failure = current.startPlan()
	}
	if failure == nil {
		failure = current.generate(ctx, generate.Options{Generators: generate.Named(ofProjects)})
	}
	if failure != nil {
		return failure
	}
	errs := diagnostic.All(err)
	for i, one := range errs {
		if e, ok := errors.AsType[*diagnostic.Error](one); ok {
			moved := *e
			moved.Pos.Filename = p.plan.Origin(e.Pos.Filename)
			errs[i] = &moved
		}
	}
	return errors.Join(errs...)
}

// ofProjects selects the generators that run in kctrl's projects, which are all generators except the ones that only
// kctrl gen has.
func ofProjects(g generator.Generator) bool { return !g.GenOnly }
