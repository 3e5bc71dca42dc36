package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// ControllerOptions say which controller to add to a project.
type ControllerOptions struct {
	// Group, Version, Kind and Plural name the kind, as in [APIOptions]: one of the project's own, or of everybody, such as apps, v1 and
	// Deployment; core is the group that has no name.
	Group, Version, Kind, Plural string
	// Name tells a further controller of a kind from the others. Empty is the one that has the name of the kind.
	Name string
	// Path is the import path of the Go types of a kind that is neither the project's nor built in, Domain what its group ends in,
	// and Module the Go module that they are in: it only helps to say what is missing.
	Path, Domain, Module string
	// Namespaced says that objects of the kind live in namespaces. Kinds that are known keep their scope.
	Namespaced bool
	// Types finds Go types that are not the project's own. Nil finds none, and leaves mistakes in their names to the go command.
	Types Types
	// Force writes the files of a controller that is there already anew, whatever the user made of them.
	Force bool
	// Kctrl is the kctrl that adds the controller.
	Kctrl Build
}

// PlanController adds a controller to project and plans its files, as [PlanAPI] does for a kind.
func PlanController(fsys fs.FS, proj *project.Project, opts ControllerOptions) (*plan.Plan, error) {
	resource, err := addController(proj, opts)
	if err != nil {
		return nil, err
	}
	w, err := beginWork(fsys, proj, opts.Kctrl, opts.Force)
	if err != nil {
		return nil, err
	}
	o := w.owner(resource)
	if resource.API && opts.Name == "" {
		if o.kind, err = withSample(w.plan, proj, resource, o.kind, false); err != nil {
			return nil, err
		}
	}
	steps := []func() error{
		func() error { return requirePackage(w.plan, resource.Path, opts.Module) },
		func() error { return w.controller(o, opts.Name) },
		func() error { return writeRegistration(w.plan, proj) },
		func() error { return writeProject(w.plan, proj) },
	}
	return w.plan, inOrder(steps...)
}

// addController records in the project what opts ask for, and returns the whole resource.
func addController(proj *project.Project, opts ControllerOptions) (project.Resource, error) {
	if err := validateController(opts); err != nil {
		return project.Resource{}, err
	}
	r, err := findKind(proj, opts)
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
				return project.Resource{}, &diagnostic.Error{
					Message: fmt.Sprintf("%s has a controller, which sees the objects of all versions as its own", other),
					Hint:    "--controller-name adds another one for " + r.Version,
					Class:   diagnostic.ErrUsage,
				}
			}
		}
		if err := checkControllerName(proj, templates.NewKind(kindNames(proj, *r, "")).ControllerName); err != nil {
			return project.Resource{}, err
		}
		r.Controller = true
	}
	probe := *r
	probe.Controller = true
	return *r, checkScope(proj, probe)
}

// checkControllerName refuses a name that another controller of the project has.
func checkControllerName(proj *project.Project, name string) error {
	for _, r := range proj.Resources {
		own := templates.NewKind(kindNames(proj, r, "")).ControllerName
		if slices.Contains(r.Controllers, name) || r.Controller && own == name {
			return &diagnostic.Error{
				Message: fmt.Sprintf("the controller of %s has the name %s", r, name),
				Hint:    "kctrl create controller --controller-name gives the new one another name",
				Class:   diagnostic.ErrUsage,
			}
		}
	}
	return nil
}

func validateController(opts ControllerOptions) error {
	if missing := missingNames(APIOptions{Version: opts.Version, Kind: opts.Kind}); missing != "" {
		return &diagnostic.Error{
			Message: "create controller needs " + missing,
			Hint: fmt.Sprintf("kctrl create controller --group %s --version %s --kind %s",
				project.ValidOr(opts.Group, "apps", project.ValidateGroup),
				project.ValidOr(opts.Version, "v1", project.ValidateVersion),
				project.ValidOr(opts.Kind, "Deployment", project.ValidateKind)),
			Class: diagnostic.ErrUsage,
		}
	}
	err := validateAPI(APIOptions{Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Plural: opts.Plural, Controller: true})
	if opts.Name != "" {
		err = errors.Join(err, project.ValidateController(opts.Name))
	}
	return err
}

// findKind returns the kind that opts name, as the project has it from now on.
func findKind(proj *project.Project, opts ControllerOptions) (*project.Resource, error) {
	own := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	foreign := foreignKind(opts)
	for _, r := range []project.Resource{own, foreign} {
		if found, ok := proj.Find(r.APIGroup(), r.Version, r.Kind); ok && (r.Path == "" || found.Path == r.Path) && (opts.Path == "" || r.Path != "") {
			if opts.Plural != "" && opts.Plural != found.Plural {
				return nil, &diagnostic.Error{
					Message: fmt.Sprintf("the plural of %s is %s, not %s", found, found.Plural, opts.Plural),
					Hint:    "leave --plural out",
					Class:   diagnostic.ErrUsage,
				}
			}
			return found, nil
		}
	}
	if foreign.Path == "" {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("there is no kind %s to write a controller for, neither in the project nor built in", own),
			Hint:    "kctrl create api makes one; for a kind of somebody else add --external-api-path with the import path of its Go types",
			Class:   diagnostic.ErrUsage,
		}
	}
	if err := checkForeign(&foreign, opts.Types); err != nil {
		return nil, err
	}
	if err := proj.Add(foreign); err != nil {
		return nil, err
	}
	return &proj.Resources[len(proj.Resources)-1], nil
}

// controllersOf returns the controllers of a kind.
func controllersOf(proj *project.Project, r project.Resource, header string) []templates.KindView {
	var all []templates.KindView
	names := kindNames(proj, r, header)
	if r.Controller {
		all = append(all, templates.NewKind(names))
	}
	for _, name := range r.Controllers {
		names.Controller = name
		all = append(all, templates.NewKind(names))
	}
	return all
}

// controllerParts collects the files of the controllers of a kind.
func controllerParts(c *partList, o owner) {
	for _, controller := range controllersOf(o.project, o.Resource, "") {
		name := ""
		if slices.Contains(o.Controllers, controller.ControllerName) {
			name = controller.ControllerName
		}
		o.kind = controller
		controllerPart(c, o, name)
	}
}

// controllerPart collects the files of one controller, the kind of whose owner has its names.
func controllerPart(c *partList, o owner, name string) {
	list, whose := templates.FurtherController(), strings.TrimSpace(o.id()+" "+name)
	switch {
	case !o.API || name != "":
	case o.kind.Operand.Label != "":
		list = templates.Operand()
	default:
		list = templates.Controller()
	}
	addEach(c, list, o.kind, whose)
	if o.Path != "" && !strings.HasPrefix(o.Path, "k8s.io/api/") {
		addEach(c, []templates.Template[templates.KindView]{templates.StandIn(o.kind.ControllerFolder)}, o.kind, o.id())
	}
}

// controllerFiles are those of all controllers but the one that comes with a kind.
func controllerFiles(o owner) []featureFiles {
	names := slices.Clone(o.Controllers)
	if o.Controller && !o.API {
		names = append(names, "")
	}
	var all []featureFiles
	for _, name := range names {
		drop := func(r *project.Resource) {
			r.Controller = r.Controller && name != ""
			r.Controllers = slices.DeleteFunc(slices.Clone(r.Controllers), func(n string) bool { return n == name })
		}
		all = append(all, featureFiles{"controller " + name, noFlags, drop, func(r *rendering) error { return r.controller(o, name) }})
	}
	return all
}

func controllerPromises(o owner) []promise {
	all := []promise{{o.Controller, "controller", "true", "false", o.kind.ControllerFile(".go"), o.kind.Reconciler}}
	for _, c := range controllersOf(o.project, o.Resource, "") {
		if c.ControllerName != o.kind.ControllerName {
			all = append(all, promise{true, "controllers", "[" + c.ControllerName + "]", "[]", c.ControllerFile(".go"), c.Reconciler})
		}
	}
	return all
}

func registerControllers(r *registration, o owner) {
	for _, c := range controllersOf(o.project, o.Resource, o.kind.Header) {
		r.setUp(c.ControllerImportPath, c.ControllerAlias, c.Reconciler)
	}
}
