package scaffold

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// EditOptions are the options of [PlanEdit]. A nil field leaves the setting unchanged.
type EditOptions struct {
	// The settings of [InitOptions].
	Domain, Repo, ProjectName, Owner, License *string
	MultiGroup, Namespaced, APIModule         *bool
	// Certificates is the issuer of webhook certificates.
	Certificates *string
	// Features are components of config/components, by name. True lists the component in config/default, and false removes
	// it.
	Features map[string]bool
	// Year is the copyright year if the header of Go files has none.
	Year int
	// Force writes conflicts with the user's edits between git's conflict markers.
	Force bool
	// Base returns former contents of files, from which later upgrades merge. It may be nil.
	Base sync.History
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// setting is an option that sets a field of the project. A nil value leaves the field unchanged.
type setting[T any] struct {
	value, field *T
	check        func(T) error
}

func (s setting[T]) apply() error {
	if s.value == nil {
		return nil
	}
	*s.field = *s.value
	return s.check(*s.value)
}

func (o EditOptions) texts(proj *project.Project) []setting[string] {
	return []setting[string]{
		{o.License, &proj.License, validateLicense}, {o.Owner, &proj.Owner, project.ValidateOwner},
		{o.Domain, &proj.Domain, project.ValidateDomain}, {o.Repo, &proj.Repo, project.ValidateModulePath},
		{o.ProjectName, &proj.Name, project.ValidateName},
		{o.Certificates, &proj.Certificates, func(by string) error {
			layout.SetCertificates(proj, by)
			return checkCertified(proj)
		}},
	}
}

func (o EditOptions) choices(proj *project.Project) []setting[bool] {
	valid := func(bool) error { return nil }
	return []setting[bool]{
		{o.MultiGroup, &proj.MultiGroup, valid}, {o.Namespaced, &proj.Namespaced, valid},
		{o.APIModule, &proj.APIModule, valid},
	}
}

// IsZero reports whether the options change nothing.
func (o EditOptions) IsZero() bool {
	proj := &project.Project{}
	return len(o.Features) == 0 &&
		!slices.ContainsFunc(o.texts(proj), func(s setting[string]) bool { return s.value != nil }) &&
		!slices.ContainsFunc(o.choices(proj), func(s setting[bool]) bool { return s.value != nil })
}

// PlanEdit plans to change a project to one that [PlanInit] would create with other settings. It moves files, changes
// the references between them, and keeps the user's edits. The error joins *diagnostic.Error values; after an error,
// project may have changed and must not be saved.
func PlanEdit(fsys fs.FS, proj *project.Project, opts EditOptions) (*plan.Plan, error) {
	before := proj.Clone()
	if err := opts.apply(proj); err != nil {
		return nil, err
	}
	p, err := render.BeginPlan(fsys, before, opts.Kctrl)
	if err != nil {
		return nil, err
	}
	header, err := opts.header(p, before, proj)
	if err != nil {
		return nil, err
	}
	old, err := p.ReadIfExists(layout.BoilerplateFile)
	if err != nil {
		return nil, err
	}
	if err := (transition{p, before, proj, opts.Force, opts.Base, opts.Kctrl}).apply(old, header); err != nil {
		return nil, err
	}
	return p, opts.setFeatures(p, proj)
}

// apply changes the settings, and returns an error for invalid values.
func (o EditOptions) apply(proj *project.Project) error {
	old, oldRepo := proj.Domain, proj.Repo
	var errs []error
	for _, s := range o.texts(proj) {
		errs = append(errs, s.apply())
	}
	for _, s := range o.choices(proj) {
		errs = append(errs, s.apply())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range proj.Resources {
		r := &proj.Resources[i]
		if r.API && r.Domain == old {
			r.Domain = proj.Domain
		}
		if folder, inside := layout.DirOf(oldRepo, r.Path); inside && folder != "." {
			r.Path = proj.Repo + "/" + folder
		}
		errs = append(errs, hinted(checkScope(proj, withAnyController(*r)),
			"omit --namespaced, or delete the controller first"))
		if r.API {
			errs = append(errs, hinted(render.CheckServed(proj, *r), o.servedHint(*r)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return errors.Join(checkOneGroup(proj), proj.Validate())
}

// servedHint returns the hint for an existing kind that API servers would reject with the new settings. The hint names
// flags of edit instead of create.
func (o EditOptions) servedHint(r project.Resource) string {
	if o.Domain != nil {
		return "use another --domain, such as --domain example.com"
	}
	return fmt.Sprintf("kctrl rename group --group %s --to another", r.Group)
}

// hinted replaces the hint of a diagnostic. It returns any other error unchanged.
func hinted(err error, hint string) error {
	d, ok := errors.AsType[*diagnostic.Error](err)
	if !ok {
		return err
	}
	e := *d
	e.Hint = hint
	return &e
}

// withAnyController returns r with Controller set if it has any controller.
func withAnyController(r project.Resource) project.Resource {
	r.Controller = r.Controller || len(r.Controllers) > 0
	return r
}

// checkOneGroup rejects the single-group layout if the project has several groups, or controllers with the same name.
func checkOneGroup(proj *project.Project) error {
	if proj.MultiGroup {
		return nil
	}
	groups := map[string]bool{}
	names := map[string]project.Resource{}
	for _, r := range proj.Resources {
		if r.API {
			groups[r.APIGroup()] = true
		}
		for _, c := range layout.ControllersOf(proj, r, "") {
			if other, taken := names[c.ControllerName]; taken {
				return diagnostic.Usage(
					fmt.Sprintf("%s and %s would both have a controller with the name %s", other, r, c.ControllerName),
					"delete one of them, and create it with --controller-name")
			}
			names[c.ControllerName] = r
		}
	}
	if len(groups) < 2 {
		return nil
	}
	return diagnostic.Usage(
		fmt.Sprintf("the project has %d groups, and only the layout with --multigroup has a place for each", len(groups)),
		"delete the kinds of all groups but one first, or omit --multigroup=false")
}

// header returns the new header of Go files. It differs from the old header only if the license or the owner changes.
func (o EditOptions) header(p *plan.Plan, before, after *project.Project) ([]byte, error) {
	text, err := p.ReadIfExists(layout.BoilerplateFile)
	if err != nil || before.License == after.License && before.Owner == after.Owner {
		return text, err
	}
	year := templated.YearIn(text)
	if year == 0 {
		year = o.Year
	}
	was := templates.NewLicense(year, before.Owner)
	license := func(proj *project.Project) templates.Template[templates.LicenseView] {
		return templates.Licenses()[cmp.Or(proj.License, "apache2")]
	}
	expected, err := license(before).Render(was)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(expected, edit.Plain(text)) && !o.Force {
		return nil, diagnostic.In(layout.BoilerplateFile, "has been edited since kctrl wrote it",
			"write the header there by hand, or replace it with --force")
	}
	return license(after).Render(templates.NewLicense(year, after.Owner))
}

// componentsFolder has a directory for each component.
const componentsFolder = "config/components"

// componentNames returns the names of the components that the project has and of those that kctrl can write.
func componentNames(p *plan.Plan) []string {
	names := map[string]bool{}
	entries, _ := fs.ReadDir(p.FS(), componentsFolder) // on an error, only kctrl's components are known
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != path.Base(layout.ComponentDir) {
			names[entry.Name()] = true
		}
	}
	for _, t := range templates.Project() {
		if folder := path.Dir(t.Path(templates.ProjectView{})); path.Dir(folder) == componentsFolder {
			names[path.Base(folder)] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// setFeatures adds components to config/default, or removes them. If a component is missing, as in a migrated project,
// it writes the component.
func (o EditOptions) setFeatures(p *plan.Plan, proj *project.Project) error {
	if len(o.Features) == 0 {
		return nil
	}
	name, found, err := templated.Kustomization(p, layout.DefaultDir)
	if err != nil {
		return err
	}
	if !found {
		return diagnostic.In(name, "the file is missing", "restore it from version control")
	}
	known := componentNames(p)
	text, err := p.Read(name)
	if err != nil {
		return err
	}
	for _, feature := range slices.Sorted(maps.Keys(o.Features)) {
		if !slices.Contains(known, feature) {
			return diagnostic.Usage("there is no feature "+diagnostic.Quote(feature),
				"the features are "+strings.Join(known, ", "))
		}
		change := edit.RemoveListItem
		if o.Features[feature] {
			change = edit.EnsureListItem
			if err := makeComponent(p, proj, o.Kctrl, path.Join(componentsFolder, feature)); err != nil {
				return err
			}
		}
		if text, err = change(text, name, []string{"components"}, "../components/"+feature); err != nil {
			return err
		}
	}
	return p.Edit(name, text)
}

// makeComponent plans a missing component of kctrl. If the project has webhooks, a network policy component allows the
// requests of API servers.
func makeComponent(p *plan.Plan, proj *project.Project, kctrl project.Build, folder string) error {
	if _, found, err := templated.Kustomization(p, folder); err != nil || found {
		return err
	}
	view, err := render.ProjectView(p, proj, kctrl)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(templates.Project(),
		func(t templates.Template[templates.ProjectView]) bool { return path.Dir(t.Path(view)) != folder })
	if err := templated.RenderAll(p, list, view, false); err != nil || folder != layout.PolicyDir {
		return err
	}
	webhooks, found := layout.WebhooksView(proj)
	if others, err := render.OthersWebhooks(p); err != nil || !found && !others {
		return err
	}
	allowed, err := render.AllowWebhooks(p, webhooks)
	if err != nil {
		return err
	}
	return templated.AddItems(p, layout.PolicyDir, "resources", allowed...)
}
