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

// feature declares everything that commands need to know about one feature of a kind.
type feature struct {
	// parts collects the files of the feature.
	parts func(*partList, Kind)
	// files renders the files, with one entry for each feature that a command can create.
	files func(Kind) []featureFiles
	// promises returns the Go declarations that must exist because PROJECT lists the feature.
	promises func(Kind) []promise
	// setUp adds the feature to the manager's registration.
	setUp func(*register.Registration, Kind)
}

// featureFiles renders the files of one feature of a kind.
type featureFiles struct {
	name string
	// flags returns the feature's flags in PROJECT; it is nil if the feature has no flags.
	flags func(*project.Resource) *[]string
	// drop removes the feature from a kind.
	drop   func(*project.Resource)
	render func(*Rendering) error
}

// kindFeature is the feature name of the types of a kind that the project defines.
const kindFeature = "kind"

// noFlags is for features whose flags PROJECT does not record.
func noFlags(*project.Resource) *[]string { return nil }

// features returns all features in rendering order.
func features() []feature {
	return []feature{
		{kindParts, kindFiles, kindPromises, registerKind},
		{controllerParts, controllerFiles, controllerPromises, registerControllers},
		{admissionParts, admissionFiles, admissionPromises, registerWebhooks},
		{conversionParts, conversionFiles, conversionPromises, registerConversions},
	}
}

// Kind is a kind of a project, with the data to render its features.
type Kind struct {
	project.Resource
	project *project.Project
	at      int // index in the project
	View    templates.KindView
	model   *fields.Model // nil without flags for fields
}

// Kinds returns the kinds of a project, with a header for their Go files.
func Kinds(proj *project.Project, header string) []Kind {
	var all []Kind
	for i, r := range proj.Resources {
		all = append(all, Kind{Resource: r, project: proj, at: i, View: layout.KindView(proj, r, header)})
	}
	return all
}

// id identifies the kind in the ids of files.
func (o Kind) id() string { return strconv.Itoa(o.at) }

// first identifies the first kind of the project for which same is true. It owns the files that all these kinds share.
func (o Kind) first(same func(project.Resource) bool) string {
	return strconv.Itoa(slices.IndexFunc(o.project.Resources, same))
}

// BeginWork starts the rendering for a command that adds features.
func BeginWork(fsys fs.FS, proj *project.Project, kctrl project.Build, force bool) (*Rendering, error) {
	p, err := BeginPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	header, err := templated.GoHeader(p)
	return &Rendering{Plan: p, project: proj, Header: header, force: force}, err
}

// BeginPlan starts a plan for a project, and completes the project's lock and runtime.
func BeginPlan(fsys fs.FS, proj *project.Project, kctrl project.Build) (*plan.Plan, error) {
	p, err := NewProjectPlan(fsys, proj, kctrl)
	if err != nil {
		return nil, err
	}
	return p, gomod.PlanRuntime(p, proj)
}
