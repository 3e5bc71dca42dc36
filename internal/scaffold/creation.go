package scaffold

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// creation is a thing that create commands make for a kind. What it says of a project with that thing is all that delete, edit, rename
// and upgrade know of it.
type creation struct {
	// parts collects the files that there are because of it.
	parts func(*partList, owner)
	// commands make it again.
	commands func(owner, Build) []replayed
	// promises are what PROJECT says that Go files declare for it.
	promises func(owner) []promise
	// setUp has the manager know or run it.
	setUp func(*registration, owner)
}

// creations returns all of them, in an order in which they can be made.
func creations() []creation {
	return []creation{
		{kindParts, kindCommands, kindPromises, registerKind},
		{controllerParts, controllerCommands, controllerPromises, registerControllers},
		{admissionParts, admissionCommands, admissionPromises, registerWebhooks},
		{conversionParts, conversionCommands, conversionPromises, registerConversions},
	}
}

// owner is a kind of a project, for which something was made.
type owner struct {
	project.Resource
	project *project.Project
	at      int // its index there
	kind    templates.KindView
}

// owners returns the kinds of a project, with a header for their Go files.
func owners(proj *project.Project, header string) []owner {
	var all []owner
	for i, r := range proj.Resources {
		all = append(all, owner{r, proj, i, templates.NewKind(kindNames(proj, r, header))})
	}
	return all
}

// id names the kind in the ids of parts.
func (o owner) id() string { return strconv.Itoa(o.at) }

// first names the first kind of the project for which something holds: what several have in common is its.
func (o owner) first(same func(project.Resource) bool) string {
	return strconv.Itoa(slices.IndexFunc(o.project.Resources, same))
}

// names returns what finds the kind on a command line. One that is not the project's own has a path, or is built in.
func (o owner) names() (group, path, domain string) {
	switch {
	case o.Path == "":
		return o.Group, "", ""
	case strings.HasPrefix(o.Path, "k8s.io/api/"):
		return cmp.Or(o.Group, "core"), "", o.Domain
	}
	return o.Group, o.Path, o.Domain
}

// work is what all commands that create something begin with.
type work struct {
	plan   *plan.Plan
	header string // of Go files
	kind   templates.KindView
}

// beginWork begins a plan for a kind of a project, with the controller of a name.
func beginWork(fsys fs.FS, proj *project.Project, r project.Resource, controller string, kctrl Build) (work, error) {
	w := work{}
	var err error
	if w.plan, err = beginPlan(fsys, proj, kctrl); err != nil {
		return w, err
	}
	if w.header, err = goHeader(w.plan); err != nil {
		return w, err
	}
	names := kindNames(proj, r, w.header)
	names.Controller = controller
	w.kind = templates.NewKind(names)
	return w, nil
}

// beginPlan begins a plan for a project that has all that commands rely on: its lock, and the runtime.
func beginPlan(fsys fs.FS, proj *project.Project, kctrl Build) (*plan.Plan, error) {
	p, err := NewProjectPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	return p, PlanRuntime(p, proj)
}

// inOrder takes steps until one fails.
func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
