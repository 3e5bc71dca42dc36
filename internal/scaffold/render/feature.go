package render

import (
	"io/fs"
	"slices"
	"strconv"

	"github.com/kctrl-dev/kctrl/internal/scaffold/fields"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// feature is what a kind can have. All that commands know of a feature is here.
type feature struct {
	// parts collects the files that there are because of it.
	parts func(*partList, owner)
	// files render them: one function for each thing that a command can make.
	files func(owner) []featureFiles
	// promises are what PROJECT says that Go files declare for it.
	promises func(owner) []promise
	// setUp has the manager know or run it.
	setUp func(*register.Registration, owner)
}

// featureFiles are the files that a command makes of a feature of a kind.
type featureFiles struct {
	name string
	// flags are those that PROJECT keeps of it; nil if there are none.
	flags func(*project.Resource) *[]string
	// drop has a kind without it.
	drop   func(*project.Resource)
	render func(*rendering) error
}

// kindFeature is the name of a kind of the project's own among its features.
const kindFeature = "kind"

// noFlags is of what PROJECT keeps no flags.
func noFlags(*project.Resource) *[]string { return nil }

// features returns all of them, in an order in which they can be rendered.
func features() []feature {
	return []feature{
		{KindParts, kindFiles, kindPromises, registerKind},
		{controllerParts, controllerFiles, controllerPromises, registerControllers},
		{admissionParts, admissionFiles, admissionPromises, registerWebhooks},
		{conversionParts, conversionFiles, conversionPromises, registerConversions},
	}
}

// owner is a kind of a project, for which something was made.
type owner struct {
	project.Resource
	project *project.Project
	at      int // its index there
	View    templates.KindView
	model   *fields.Model // nil if no flag names a field
}

// Owners returns the kinds of a project, with a header for their Go files.
func Owners(proj *project.Project, header string) []owner {
	var all []owner
	for i, r := range proj.Resources {
		all = append(all, owner{Resource: r, project: proj, at: i, View: templates.NewKind(layout.KindNames(proj, r, header))})
	}
	return all
}

// id names the kind in the ids of parts.
func (o owner) id() string { return strconv.Itoa(o.at) }

// first names the first kind of the project for which something holds: what several have in common is its.
func (o owner) first(same func(project.Resource) bool) string {
	return strconv.Itoa(slices.IndexFunc(o.project.Resources, same))
}

// shaped returns the kind with its fields.
func (o owner) shaped() shaped { return shaped{o.View, o.model} }

// Shape returns the kind with the fields that create api was asked for.
func (o owner) Shape(p *plan.Plan, opts KindOptions, resource bool) (owner, error) {
	s, err := shape(p, o.project, o.Resource, o.View, opts, resource)
	o.View, o.model = s.kind, s.model
	return o, err
}

// BeginWork begins what all commands do that create something.
func BeginWork(fsys fs.FS, proj *project.Project, kctrl project.Build, force bool) (*rendering, error) {
	p, err := BeginPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	header, err := templated.GoHeader(p)
	return &rendering{Plan: p, project: proj, Header: header, force: force}, err
}

// BeginPlan begins a plan for a project that has all that commands rely on: its lock, and the runtime.
func BeginPlan(fsys fs.FS, proj *project.Project, kctrl project.Build) (*plan.Plan, error) {
	p, err := NewProjectPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	return p, gomod.PlanRuntime(p, proj)
}
