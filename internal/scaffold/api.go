package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/module"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
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
	// Shape is what the objects of the kind look like. Only the fields of a further version can be more than those it is a copy of.
	Shape Shape
	// Operand has the controller run something for each object. Nil leaves to the user what it does.
	Operand *Operand
	// NoConversion leaves a further version of a kind to the API server, which then changes nothing but the apiVersion of its objects.
	NoConversion bool
	// StorageVersion has API servers store the objects of the kind in this version from now on.
	StorageVersion bool
	// Force writes the files of a kind that is there already anew, whatever the user made of them.
	Force bool
	// Kctrl is the kctrl that adds the kind.
	Kctrl Build
}

// PlanAPI adds a kind, or the controller of a kind, to project and plans its files: all but the generated ones, for which
// the plan is to be handed to internal/generate. Errors are *diagnostic.Error, joined; project may then have changed and
// is not to be saved.
func PlanAPI(fsys fs.FS, proj *project.Project, opts APIOptions) (*plan.Plan, error) {
	resource, err := addResource(proj, opts)
	if err != nil {
		return nil, err
	}
	w, err := beginWork(fsys, proj, opts.Kctrl, opts.Force)
	if err != nil {
		return nil, err
	}
	o := w.owner(resource)
	if o, err = o.shape(w.plan, opts); err != nil {
		return nil, err
	}
	var spokes []project.Resource
	if opts.Resource && !opts.NoConversion {
		spokes = connectVersions(proj, resource)
	}
	var steps []func() error
	if opts.Resource {
		steps = append(steps,
			func() error { return w.write(kindParts, o) },
			func() error { return markStored(w.plan, proj, resource, opts.StorageVersion) },
			func() error { return joinScheme(w.plan, o.kind.Folder) },
		)
	}
	if opts.Controller && resource.Controller {
		steps = append(steps, func() error { return w.controller(o, "") })
	}
	needs := func() error { return requireDirectly(w.plan, typesModule) }
	if opts.Resource {
		needs = func() error { return requireForTypes(w.plan, proj, o.kind.Folder) }
	}
	steps = append(steps,
		needs,
		func() error { return writeConversions(w.plan, proj, spokes, w.header, opts.Force) },
		w.finish,
	)
	return w.plan, inOrder(steps...)
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
		APIFlags:   opts.flags(),
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
		return checkControllerName(proj, templates.NewKind(kindNames(proj, resource, "")).ControllerName)
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
	if err := checkServed(proj, resource); err != nil {
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
	if err := opts.Operand.validate(opts); err != nil {
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
		r.API, r.APIFlags = true, opts.flags()
	}
	r.Controller = r.Controller || opts.Controller
	return nil
}

// checkNeighbours refuses a kind that the layout has no place for beside the others: those of kctrl, and those that a project of
// kubebuilder has had in the same folder.
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
		Hint:    "leave out --namespaced=false, or run kctrl edit --namespaced=false first",
		Class:   diagnostic.ErrUsage,
	}
}

// maxCRDName is the longest <plural>.<group> whose file, <group>_<plural>.yaml, file systems can hold.
const maxCRDName = 250

// checkServed refuses a kind that no API server would serve, or that Go has no place for.
func checkServed(proj *project.Project, r project.Resource) error {
	group := r.APIGroup()
	message, hint := "", ""
	switch {
	case !strings.Contains(group, "."):
		message = fmt.Sprintf("the API group %q has no dot, and API servers refuse such groups", group)
		hint = "add --group webapp"
	case strings.Contains(r.Domain, ".") && strings.HasSuffix("."+r.Group, "."+r.Domain):
		message = fmt.Sprintf("the group %q ends in the domain of the project, which is added to it", r.Group)
		hint = "use --group " + cmp.Or(strings.TrimSuffix(strings.TrimSuffix(r.Group, r.Domain), "."), "webapp")
	case project.YAMLProblem(group) != "":
		message = fmt.Sprintf("invalid API group %q: %s", group, project.YAMLProblem(group))
		hint = "use --group webapp"
	case len(r.Plural)+len(".")+len(group) > maxCRDName:
		message = fmt.Sprintf("the CRD's name, %s.%s, is longer than %d characters", r.Plural, group, maxCRDName)
		hint = "use a shorter group or kind"
	case proj.MultiGroup && slices.Contains([]string{"internal", "testdata", "vendor"}, r.Group):
		message = fmt.Sprintf("the group %q would be a folder whose packages the go command hides", r.Group)
		hint = "use another group"
	case proj.MultiGroup && r.Group != "" && module.CheckImportPath(r.Group) != nil:
		message = fmt.Sprintf("the group %q would be a folder that Windows cannot have, so that the go command refuses it", r.Group)
		hint = "use another group"
	default:
		return nil
	}
	return &diagnostic.Error{Message: message, Hint: hint, Class: diagnostic.ErrUsage}
}

// kindParts collects the files of a kind of the project's own.
func kindParts(c *partList, o owner) {
	if !o.API {
		return
	}
	ofKind := o.first(func(r project.Resource) bool { return r.APIGroup() == o.APIGroup() && r.Kind == o.Kind })
	types, sample := templates.Types(), templates.Sample()
	c.add(part{
		path: types.Path(o.kind), id: types.ID + " " + o.id(),
		write: func(r *rendering) error { return writeTypes(r.plan, r.project, o.Resource, o.shaped(), r.force) },
	})
	ofPackage := []templates.Template[templates.VersionView]{templates.VersionRegister(), templates.Version()}
	if _, migrated := migratedFolder(o.project, o.Resource); migrated {
		ofPackage = ofPackage[:1]
	}
	for _, t := range ofPackage { // which the registration of the project writes
		c.add(part{
			path: t.Path(o.kind.VersionView), generated: t.Ownership == templates.Generated, common: t.Ownership != templates.Generated,
			id: t.ID + " " + o.first(func(r project.Resource) bool { return r.APIGroup() == o.APIGroup() && r.Version == o.Version }),
		})
	}
	c.add(part{
		path: path.Join(crdFolder, o.kind.CRDBase), id: "generate/crd " + ofKind, generated: true,
		listings: []listing{{crdFolder, "resources", o.kind.CRDBase}},
	})
	c.add(part{
		path: path.Join(samplesFolder, o.kind.SampleFile), id: sample.ID + " " + o.id(),
		listings: []listing{{samplesFolder, "resources", o.kind.SampleFile}},
		write:    func(r *rendering) error { return writeSample(r.plan, r.project, o.Resource, o.shaped(), r.force) },
	})
	for _, t := range templates.Roles() {
		name := t.Path(o.kind)
		c.add(part{
			path: name, id: t.ID + " " + ofKind, listings: []listing{{rbacFolder, "resources", path.Base(name)}},
			write: func(r *rendering) error { return render(r.plan, t, o.kind, r.force) },
		})
	}
	lists := func(r *rendering) error { return writeLists(r.plan, r.project) }
	c.add(part{
		path: path.Join(crdFolder, "kustomization.yaml"), id: "list of CRDs", kustomization: true, write: lists,
		listings: []listing{{defaultFolder, "resources", "../crd"}},
	})
	c.add(part{path: path.Join(samplesFolder, "kustomization.yaml"), id: "list of samples", kustomization: true, write: lists})
}

// kindFiles are those of a kind of the project's own, with the controller that comes with it.
func kindFiles(o owner) []featureFiles {
	if !o.API {
		return nil
	}
	drop := func(r *project.Resource) { r.API, r.Controller = false, false }
	flags := func(r *project.Resource) *[]string { return &r.APIFlags }
	return []featureFiles{{kindFeature, flags, drop, func(r *rendering) error { return renderKind(r, o) }}}
}

func kindPromises(o owner) []promise {
	return []promise{{o.API, "api", "true", "false", o.kind.TypesFile(), o.kind.Kind}}
}

// registerKind makes the Go types that the project uses of a kind known to its manager.
func registerKind(r *registration, o owner) {
	if o.API || o.Path != "" && usesTypes(o.Resource) {
		r.addAPI(o.kind.ImportPath, o.kind.Alias)
	}
}
