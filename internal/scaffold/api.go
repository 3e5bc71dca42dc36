package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// APIOptions say which kind to add to a project.
type APIOptions struct {
	// Group is the API group without the domain of the project. Empty means that the domain is the group.
	Group string
	// Version and Kind name the Go package and type. Both are required.
	Version, Kind string
	// Plural is the name of the resource; empty means the English plural of Kind.
	Plural string
	// Resource asks for the Go type and its CRD, Controller for the controller and its test. One of them must be set.
	Resource, Controller bool
	// Namespaced says that objects of the kind live in namespaces. A kind that is there already keeps its scope.
	Namespaced bool
	// Shape is what the objects of the kind look like. Only the fields of a further version can be more than those it is
	// a copy of.
	Shape render.Shape
	// Operand has the controller run something for each object. Nil leaves to the user what it does.
	Operand *render.Operand
	// NoConversion leaves a further version of a kind to the API server, which then changes nothing but the apiVersion
	// of its objects.
	NoConversion bool
	// StorageVersion has API servers store the objects of the kind in this version from now on.
	StorageVersion bool
	// Force writes the files of a kind that is there already anew, whatever the user made of them.
	Force bool
	// Kctrl is the kctrl that adds the kind.
	Kctrl project.Build
}

// kind returns what PROJECT keeps of the options.
func (o APIOptions) kind() render.KindOptions {
	return render.KindOptions{Shape: o.Shape, Operand: o.Operand}
}

// PlanAPI adds a kind, or the controller of a kind, to project and plans its files: all but the generated ones, for
// which the plan is to be handed to internal/generate. Errors are *diagnostic.Error, joined; project may then have
// changed and is not to be saved.
func PlanAPI(fsys fs.FS, proj *project.Project, opts APIOptions) (*plan.Plan, error) {
	resource, err := addResource(proj, opts)
	if err != nil {
		return nil, err
	}
	w, err := render.BeginWork(fsys, proj, opts.Kctrl, opts.Force)
	if err != nil {
		return nil, err
	}
	o := w.Kind(resource)
	if o, err = o.Shape(w.Plan, opts.kind(), opts.Resource); err != nil {
		return nil, err
	}
	var spokes []project.Resource
	if opts.Resource && !opts.NoConversion {
		spokes = connectVersions(proj, resource)
	}
	var steps []func() error
	if opts.Resource {
		steps = append(steps,
			func() error { return w.WriteKind(o) },
			func() error { return render.MarkStored(w.Plan, proj, resource, opts.StorageVersion) },
			func() error { return register.JoinScheme(w.Plan, o.View.Folder) },
		)
	}
	if opts.Controller && resource.Controller {
		steps = append(steps, func() error { return w.Controller(o, "") })
	}
	needs := func() error { return gomod.RequireDirectly(w.Plan, layout.TypesModule) }
	if opts.Resource {
		needs = func() error { return gomod.RequireForTypes(w.Plan, proj, o.View.Folder) }
	}
	steps = append(steps,
		needs,
		func() error { return render.WriteConversions(w.Plan, proj, spokes, w.Header, opts.Force) },
		w.Finish,
	)
	return w.Plan, plan.InOrder(steps...)
}

// addResource records in the project what opts ask for, and returns the whole resource.
func addResource(proj *project.Project, opts APIOptions) (project.Resource, error) {
	if err := validateAPI(opts); err != nil {
		return project.Resource{}, err
	}
	resource := project.Resource{
		Group:      opts.Group,
		Domain:     proj.Domain,
		Version:    opts.Version,
		Kind:       opts.Kind,
		Plural:     opts.Plural,
		Namespaced: opts.Namespaced,
		API:        opts.Resource,
		Controller: opts.Controller,
		APIFlags:   opts.kind().Flags(),
	}
	for _, other := range proj.Versions(resource) {
		// All versions of a kind are one resource, and have one controller, which sees each of them as its own.
		resource.Plural = cmp.Or(resource.Plural, other.Plural)
		resource.Namespaced = other.Namespaced
		opts.Controller = opts.Controller && !other.Controller
	}
	resource.Controller = opts.Controller
	if resource.Plural == "" {
		resource.Plural = project.Plural(resource.Kind)
	}
	existing, found := proj.Find(resource.APIGroup(), resource.Version, resource.Kind)
	nameIsFree := func() error {
		if !resource.Controller || found && existing.Controller {
			return nil
		}
		return checkControllerName(proj, templates.NewKind(layout.KindNames(proj, resource, "")).ControllerName)
	}
	if found {
		if err := nameIsFree(); err != nil {
			return project.Resource{}, err
		}
		if err := extendResource(existing, opts); err != nil {
			return project.Resource{}, err
		}
		return *existing, checkScope(proj, *existing)
	}
	if !opts.Resource {
		return project.Resource{}, &diagnostic.Error{
			Message: fmt.Sprintf("there is no kind %s to write a controller for", resource),
			Hint:    "add --resource to make it",
			Class:   diagnostic.ErrUsage,
		}
	}
	if err := render.CheckServed(proj, resource); err != nil {
		return project.Resource{}, err
	}
	if err := errors.Join(checkNeighbours(proj, resource), checkScope(proj, resource)); err != nil {
		return project.Resource{}, err
	}
	if err := nameIsFree(); err != nil {
		return project.Resource{}, err
	}
	return resource, proj.Add(resource)
}

func validateAPI(opts APIOptions) error {
	if missing := missingNames(opts); missing != "" {
		return &diagnostic.Error{
			Message: "create api needs " + missing,
			Hint: fmt.Sprintf("kctrl create api --group %s --version %s --kind %s",
				project.ValidOr(opts.Group, "webapp", project.ValidateGroup),
				project.ValidOr(opts.Version, "v1", project.ValidateVersion),
				project.ValidOr(opts.Kind, "Guestbook", project.ValidateKind)),
			Class: diagnostic.ErrUsage,
		}
	}
	if err := opts.Operand.Validate(opts.Resource, opts.Controller, opts.Namespaced); err != nil {
		return err
	}
	if !opts.Resource && !opts.Controller {
		return &diagnostic.Error{
			Message: "there is nothing to create without a resource and without a controller",
			Hint:    "leave out --resource=false or --controller=false",
			Class:   diagnostic.ErrUsage,
		}
	}
	var errs []error
	if opts.Group != "" {
		errs = append(errs, project.ValidateGroup(opts.Group))
	}
	errs = append(errs, project.ValidateVersion(opts.Version), project.ValidateKind(opts.Kind))
	if opts.Plural != "" {
		errs = append(errs, project.ValidatePlural(opts.Plural))
	}
	return errors.Join(errs...)
}

// missingNames says which of the names that make a kind are not given, or nothing.
func missingNames(opts APIOptions) string {
	switch {
	case opts.Version == "" && opts.Kind == "":
		return "a version and a kind"
	case opts.Version == "":
		return "a version"
	case opts.Kind == "":
		return "a kind"
	}
	return ""
}

// extendResource asks more of a kind that the project has.
func extendResource(r *project.Resource, opts APIOptions) error {
	if !opts.Force && (opts.Resource && r.API || opts.Controller && r.Controller) {
		what, hint := "kind", "--force writes its files anew"
		if !opts.Resource || !r.API {
			what = "controller of the kind"
		} else if !r.Controller {
			hint = "--resource=false --controller adds a controller, --force writes its files anew"
		}
		return &diagnostic.Error{
			Message: fmt.Sprintf("the %s %s exists", what, r),
			Hint:    hint,
			Class:   diagnostic.ErrUsage,
		}
	}
	if opts.Plural != "" && opts.Plural != r.Plural {
		return &diagnostic.Error{
			Message: fmt.Sprintf("the plural of %s is %s, not %s", r, r.Plural, opts.Plural),
			Hint:    "leave --plural out",
			Class:   diagnostic.ErrUsage,
		}
	}
	if opts.Resource {
		r.API, r.APIFlags = true, opts.kind().Flags()
	}
	r.Controller = r.Controller || opts.Controller
	return nil
}

// checkNeighbours refuses a kind that the layout has no place for beside the others: those of kctrl, and those that a
// project of kubebuilder has had in the same folder.
func checkNeighbours(proj *project.Project, r project.Resource) error {
	var stranger *project.Resource
	for i, other := range proj.Resources {
		switch {
		case proj.MultiGroup, !other.API && !strings.HasPrefix(other.Path, path.Join(proj.Repo, project.APIFolder)+"/"):
		case other.APIGroup() == r.APIGroup():
			return nil
		case stranger == nil:
			stranger = &proj.Resources[i]
		}
	}
	if stranger == nil {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("this project has the one group %s, and its layout no place for %s", stranger.APIGroup(), r.APIGroup()),
		Hint:    "use --group " + stranger.Group + ", or run kctrl edit --multigroup first",
		Class:   diagnostic.ErrUsage,
	}
}

// checkScope refuses a controller for objects that an operator which is limited to its namespace may not read.
func checkScope(proj *project.Project, r project.Resource) error {
	if !proj.Namespaced || !r.Controller || r.Namespaced {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("%s is cluster scoped, and this operator is limited to its namespace", r),
		Hint:    "omit --namespaced=false, or run kctrl edit --namespaced=false first",
		Class:   diagnostic.ErrUsage,
	}
}
