package scaffold

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// scaffoldAgain makes the project in memory as it was made on disk, and returns its lock. What cannot be made again, such
// as a kind that the names of today do not allow, is not in it.
func scaffoldAgain(p *plan.Plan, proj *project.Project, kctrl Build) (*project.Lock, error) {
	memory := afero.NewMemMapFs()
	fsys := afero.NewIOFS(memory)
	header, err := fs.ReadFile(p.FS(), boilerplateFile)
	if err == nil {
		header, err = dated(p, header)
	}
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
		writeProjectFiles(empty, blank, kctrl, false), writeModules(empty, blank, kctrl, false),
		writeRegistration(empty, blank), writeProject(empty, blank), empty.Apply(context.Background(), memory, "kctrl"),
	)
	if err != nil {
		return &project.Lock{}, nil
	}
	replayKinds(memory, blank, proj, kctrl, nil)
	return project.LoadLock(fsys)
}

// replayed is one command that made a part of a project.
type replayed struct {
	// resource is the index of the kind in the project, part what of it is made: kind, controller and so on.
	resource int
	part     string
	// flags are those that PROJECT keeps of it; nil if there are none.
	flags func(*project.Resource) *[]string
	plan  func(fs.FS, *project.Project) (*plan.Plan, error)
}

// noFlags is of what PROJECT keeps no flags.
func noFlags(*project.Resource) *[]string { return nil }

// commandsOf returns the commands that make the kinds of a project, and what belongs to them, in an order in which they can run.
func commandsOf(proj *project.Project, kctrl Build) []replayed {
	var all []replayed
	for _, made := range creations() {
		for _, o := range owners(proj, "") {
			all = append(all, made.commands(o, kctrl)...)
		}
	}
	return all
}

// replayKinds adds the kinds of a project to one in memory, as far as that can be done and is not left out, and returns the commands
// that failed.
func replayKinds(memory afero.Fs, blank, proj *project.Project, kctrl Build, leaveOut []failure) []failure {
	fsys := afero.NewIOFS(memory)
	var failed []failure
	blank.Resources = migratedKinds(proj)
	for _, command := range commandsOf(proj, kctrl) {
		if slices.ContainsFunc(leaveOut, func(f failure) bool { return f.of(command) }) {
			continue
		}
		made := *blank
		made.Resources = slices.Clone(blank.Resources)
		p, err := command.plan(fsys, &made)
		if err == nil {
			err = p.Apply(context.Background(), memory, "kctrl")
		}
		if err != nil {
			failed = append(failed, failure{command, err})
			continue
		}
		blank = &made
	}
	return failed
}

// migratedKinds returns the kinds of a project that it had when it was migrated, and of which no command has made anything: their folders are
// those of the kinds that commands have added to their versions.
func migratedKinds(proj *project.Project) []project.Resource {
	var kinds []project.Resource
	for _, r := range proj.Resources {
		alone := proj.Blank()
		alone.Resources = []project.Resource{r}
		if _, own := folderOf(proj.Repo, r.Path); own && len(commandsOf(alone, Build{})) == 0 {
			kinds = append(kinds, r)
		}
	}
	return kinds
}

// failure is a command that cannot run again, and why.
type failure struct {
	replayed
	err error
}

func (f failure) of(command replayed) bool {
	return f.resource == command.resource && f.part == command.part
}

// replay makes the project of a plan in memory as the commands of today would, with a header for its Go files. What they cannot make
// again is not in it, and among what failed; what is left out was not tried.
func replay(p *plan.Plan, proj *project.Project, kctrl Build, header []byte, leaveOut []failure) (r replayedProject, err error) {
	memory := afero.NewMemMapFs()
	r.FS = afero.NewIOFS(memory)
	if header, err = dated(p, header); err != nil {
		return r, err
	}
	if err := afero.WriteFile(memory, boilerplateFile, header, 0o644); err != nil {
		return r, err
	}
	blank, empty := proj.Blank(), plan.New(r.FS)
	blank.Certificates = ""
	err = errors.Join(
		writeProjectFiles(empty, blank, kctrl, false), writeModules(empty, blank, kctrl, false),
		requireForeign(empty, p, proj),
		writeRegistration(empty, blank), writeProject(empty, blank), empty.Apply(context.Background(), memory, "kctrl"),
	)
	if err != nil {
		return r, err
	}
	r.failed = replayKinds(memory, blank, proj, kctrl, leaveOut)
	r.lock, err = project.LoadLock(r.FS)
	return r, err
}

// replayedProject is a project as kctrl would write it.
type replayedProject struct {
	fs.FS
	lock   *project.Lock
	failed []failure
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
