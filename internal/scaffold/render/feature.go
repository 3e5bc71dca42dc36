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
	parts func(*partList, Kind)
	// files render them: one function for each thing that a command can make.
	files func(Kind) []featureFiles
	// promises are what PROJECT says that Go files declare for it.
	promises func(Kind) []promise
	// setUp has the manager know or run it.
	setUp func(*register.Registration, Kind)
}

// featureFiles are the files that a command makes of a feature of a kind.
type featureFiles struct {
	name string
	// flags are those that PROJECT keeps of it; nil if there are none.
	flags func(*project.Resource) *[]string
	// drop has a kind without it.
	drop   func(*project.Resource)
	render func(*Rendering) error
}

// kindFeature is the name of a kind of the project's own among its features.
const kindFeature = "kind"

// noFlags is of what PROJECT keeps no flags.
func noFlags(*project.Resource) *[]string { return nil }

// features returns all of them, in an order in which they can be rendered.
func features() []feature {
	return []feature{
		{kindParts, kindFiles, kindPromises, registerKind},
		{controllerParts, controllerFiles, controllerPromises, registerControllers},
		{admissionParts, admissionFiles, admissionPromises, registerWebhooks},
		{conversionParts, conversionFiles, conversionPromises, registerConversions},
	}
}

// Kind is a kind of a project, for which something was made.
type Kind struct {
	project.Resource
	project *project.Project
	at      int // its index there
	View    templates.KindView
	model   *fields.Model // nil if no flag names a field
}

// Kinds returns the kinds of a project, with a header for their Go files.
func Kinds(proj *project.Project, header string) []Kind {
	var all []Kind
	for i, r := range proj.Resources {
		all = append(all, Kind{Resource: r, project: proj, at: i, View: templates.NewKind(layout.KindNames(proj, r, header))})
	}
	return all
}

// id names the kind in the ids of parts.
func (o Kind) id() string { return strconv.Itoa(o.at) }

// first names the first kind of the project for which something holds: what several have in common is its.
func (o Kind) first(same func(project.Resource) bool) string {
	return strconv.Itoa(slices.IndexFunc(o.project.Resources, same))
}

// shaped returns the kind with its fields.
func (o Kind) shaped() shaped { return shaped{o.View, o.model} }

// Shape returns the kind with the fields that create api was asked for.
func (o Kind) Shape(p *plan.Plan, opts KindOptions, resource bool) (Kind, error) {
	s, err := shape(p, o.project, o.Resource, o.View, opts, resource)
	o.View, o.model = s.kind, s.model
	return o, err
}

// BeginWork begins what all commands do that create something.
func BeginWork(fsys fs.FS, proj *project.Project, kctrl project.Build, force bool) (*Rendering, error) {
	p, err := BeginPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	header, err := templated.GoHeader(p)
	return &Rendering{Plan: p, project: proj, Header: header, force: force}, err
}

// BeginPlan begins a plan for a project that has all that commands rely on: its lock, and the runtime.
func BeginPlan(fsys fs.FS, proj *project.Project, kctrl project.Build) (*plan.Plan, error) {
	p, err := NewProjectPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	return p, gomod.PlanRuntime(p, proj)
}
