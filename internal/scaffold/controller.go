package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// ControllerOptions are the options of [PlanController].
type ControllerOptions struct {
	// Group, Version, Kind and Plural name the kind, as in [APIOptions]. The kind is one of the project or a built-in
	// kind, such as apps, v1 and Deployment. Use the name core for the group without a name.
	Group, Version, Kind, Plural string
	// Name distinguishes an additional controller of a kind. Empty means the controller with the name of the kind.
	Name string
	// Path is the import path of an external kind's Go types, Domain the suffix of its group, and Module the Go module of
	// the types. Module appears only in hints about a missing requirement.
	Path, Domain, Module string
	// Namespaced makes an external kind namespaced. Known kinds keep their scope.
	Namespaced bool
	// Types returns the Go types of an external kind. If it is nil, PlanController does not check the name of the kind.
	Types Types
	// Force overwrites the files of an existing controller, including the user's edits.
	Force bool
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// PlanController adds a controller to project and plans its files, as [PlanAPI] does for a kind.
func PlanController(fsys fs.FS, proj *project.Project, opts ControllerOptions) (*plan.Plan, error) {
	resource, err := addController(proj, opts)
	if err != nil {
		return nil, err
	}
	w, err := render.BeginWork(fsys, proj, opts.Kctrl, opts.Force)
	if err != nil {
		return nil, err
	}
	o := w.Kind(resource)
	if resource.API && opts.Name == "" {
		if o, err = o.WithSample(w.Plan, false); err != nil {
			return nil, err
		}
	}
	steps := []func() error{
		func() error { return gomod.RequirePackage(w.Plan, resource.Path, opts.Module) },
		func() error { return w.Controller(o, opts.Name) },
		w.Register,
		func() error { return templated.WriteProject(w.Plan, proj) },
	}
	return w.Plan, plan.InOrder(steps...)
}

// addController adds the controller of the options to the project, and returns its kind.
func addController(proj *project.Project, opts ControllerOptions) (project.Resource, error) {
	if err := validateController(opts); err != nil {
		return project.Resource{}, err
	}
	own := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	r, err := findKind(proj, opts, diagnostic.Usage(
		fmt.Sprintf("there is no kind %s to write a controller for, neither in the project nor built in", own),
		"kctrl create api makes one; for an external kind add --external-api-path with the import path of its Go types"))
	if err != nil {
		return project.Resource{}, err
	}
	has := r.Controller
	if opts.Name != "" {
		has = slices.Contains(r.Controllers, opts.Name)
	}
	switch {
	case has && !opts.Force:
		what := "the controller of the kind " + r.String()
		if opts.Name != "" {
			what = fmt.Sprintf("the controller %s of the kind %s", opts.Name, r)
		}
		err := existsError(what).(*diagnostic.Error)
		err.Hint += ", --controller-name adds another one"
		return project.Resource{}, err
	case has:
	case opts.Name != "":
		if err := checkControllerName(proj, opts.Name); err != nil {
			return project.Resource{}, err
		}
		r.Controllers = append(r.Controllers, opts.Name)
	default:
		for _, other := range proj.Versions(*r) {
			if other.Controller {
				return project.Resource{}, diagnostic.Usage(
					fmt.Sprintf("%s has a controller, which sees the objects of all versions as its own", other),
					"--controller-name adds another one for "+r.Version)
			}
		}
		if err := checkControllerName(proj, layout.KindView(proj, *r, "").ControllerName); err != nil {
			return project.Resource{}, err
		}
		r.Controller = true
	}
	probe := *r
	probe.Controller = true
	return *r, checkScope(proj, probe)
}

// checkControllerName rejects a name that another controller in the project has.
func checkControllerName(proj *project.Project, name string) error {
	for _, r := range proj.Resources {
		own := layout.KindView(proj, r, "").ControllerName
		if slices.Contains(r.Controllers, name) || r.Controller && own == name {
			return diagnostic.Usage(fmt.Sprintf("the controller of %s has the name %s", r, name),
				"kctrl create controller --controller-name gives the new one another name")
		}
	}
	return nil
}

func validateController(opts ControllerOptions) error {
	names := APIOptions{Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Plural: opts.Plural, Controller: true}
	if err := checkNames("create controller", names, "apps", "Deployment", ""); err != nil {
		return err
	}
	err := validateAPI(names)
	if opts.Name != "" {
		err = errors.Join(err, project.ValidateController(opts.Name))
	}
	return err
}

// findKind returns the kind that the options name. It adds an external kind to the project. For an unknown kind it
// returns the error unknown.
func findKind(proj *project.Project, opts ControllerOptions, unknown error) (*project.Resource, error) {
	own := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	foreign := foreignKind(opts)
	for _, r := range []project.Resource{own, foreign} {
		if found, ok := proj.Find(r.APIGroup(), r.Version, r.Kind); ok && (r.Path == "" || found.Path == r.Path) &&
			(opts.Path == "" || r.Path != "") {
			if opts.Plural != "" && opts.Plural != found.Plural {
				return nil, diagnostic.Usage(fmt.Sprintf("the plural of %s is %s, not %s", found, found.Plural, opts.Plural),
					"omit --plural")
			}
			return found, nil
		}
	}
	if foreign.Path == "" {
		return nil, unknown
	}
	if err := checkForeign(&foreign, opts.Types); err != nil {
		return nil, err
	}
	if err := proj.Add(foreign); err != nil {
		return nil, err
	}
	return &proj.Resources[len(proj.Resources)-1], nil
}
