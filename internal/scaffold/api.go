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
)

// APIOptions are the options of [PlanAPI].
type APIOptions struct {
	// Group is the API group without the project's domain. Empty means that the domain itself is the API group.
	Group string
	// Version and Kind name the Go package and type. Both are required.
	Version, Kind string
	// Plural is the name of the resource; empty means the English plural of Kind.
	Plural string
	// Resource requests the Go type and its CRD, and Controller requests the controller and its test. At least one must be
	// set.
	Resource, Controller bool
	// Namespaced makes the kind namespaced. An existing kind keeps its scope.
	Namespaced bool
	// Shape defines the fields and names of the kind. If the kind exists in another version, the new version copies the
	// fields of the oldest version, and Shape can only add fields.
	Shape render.Shape
	// Operand makes the controller run a workload for each object. Nil means an empty reconciler.
	Operand *render.Operand
	// NoConversion omits the conversion of a second or later version. API servers then change only the apiVersion of
	// objects.
	NoConversion bool
	// StorageVersion makes this version the one in which API servers store objects.
	StorageVersion bool
	// Force overwrites the files of an existing kind, including the user's edits.
	Force bool
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// kind returns the options that PROJECT records.
func (o APIOptions) kind() render.KindOptions {
	return render.KindOptions{Shape: o.Shape, Operand: o.Operand}
}

// PlanAPI adds a kind, or a controller for a kind, to project and plans its files. It does not plan generated files:
// internal/generate adds those to the plan. The error joins *diagnostic.Error values; after an error, project may have
// changed and must not be saved.
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

// addResource adds the kind of the options to the project, and returns it.
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
		// All versions of a kind share the resource name and the controller.
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
		return checkControllerName(proj, layout.KindView(proj, resource, "").ControllerName)
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
		return project.Resource{}, diagnostic.Usage(fmt.Sprintf("there is no kind %s to write a controller for", resource),
			"add --resource to make it")
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
	if err := checkNames("create api", opts, "webapp", "Guestbook", ""); err != nil {
		return err
	}
	if err := opts.Operand.Validate(opts.Resource, opts.Controller, opts.Namespaced); err != nil {
		return err
	}
	if !opts.Resource && !opts.Controller {
		return diagnostic.Usage("nothing to create: --resource and --controller are both false",
			"omit --resource=false or --controller=false")
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

// checkNames rejects options of a create command without a version or a kind. The hint shows a command with the valid
// names in opts, example values for the other names, and further flags.
func checkNames(command string, opts APIOptions, group, kind, flags string) error {
	missing := ""
	switch {
	case opts.Version == "" && opts.Kind == "":
		missing = "a version and a kind"
	case opts.Version == "":
		missing = "a version"
	case opts.Kind == "":
		missing = "a kind"
	default:
		return nil
	}
	return diagnostic.Usage(command+" needs "+missing, fmt.Sprintf("kctrl %s --group %s --version %s --kind %s%s", command,
		project.ValidOr(opts.Group, group, project.ValidateGroup),
		project.ValidOr(opts.Version, "v1", project.ValidateVersion),
		project.ValidOr(opts.Kind, kind, project.ValidateKind), flags))
}

// extendResource adds the Go type or the controller to a kind that PROJECT already lists.
func extendResource(r *project.Resource, opts APIOptions) error {
	if !opts.Force && (opts.Resource && r.API || opts.Controller && r.Controller) {
		what, hint := "kind", "--force overwrites its files"
		if !opts.Resource || !r.API {
			what = "controller of the kind"
		} else if !r.Controller {
			hint = "--resource=false --controller adds a controller, --force overwrites its files"
		}
		return diagnostic.Usage(fmt.Sprintf("the %s %s exists", what, r), hint)
	}
	if opts.Plural != "" && opts.Plural != r.Plural {
		return diagnostic.Usage(fmt.Sprintf("the plural of %s is %s, not %s", r, r.Plural, opts.Plural), "omit --plural")
	}
	if opts.Resource {
		r.API, r.APIFlags = true, opts.kind().Flags()
	}
	r.Controller = r.Controller || opts.Controller
	return nil
}

// checkNeighbours rejects a kind of a second group if the project uses the single-group layout. Kinds of a migrated
// project count as well.
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
	return diagnostic.Usage(fmt.Sprintf("this project has the one group %s, and its layout has no place for %s",
		stranger.APIGroup(), r.APIGroup()),
		"use --group "+stranger.Group+", or run kctrl edit --multigroup first")
}

// checkScope rejects a controller for a cluster-scoped kind if the operator is limited to its namespace.
func checkScope(proj *project.Project, r project.Resource) error {
	if !proj.Namespaced || !r.Controller || r.Namespaced {
		return nil
	}
	return diagnostic.Usage(fmt.Sprintf("%s is cluster scoped, and this operator is limited to its namespace", r),
		"omit --namespaced=false, or run kctrl edit --namespaced=false first")
}
