package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// DeleteOptions are the options of the PlanDelete functions. Names have the same meaning as in the create commands.
type DeleteOptions struct {
	// Group, Version and Kind name the kind, as in [APIOptions] and [ControllerOptions].
	Group, Version, Kind string
	// Name is the name of an additional controller of the kind.
	Name string
	// Defaulting, Validation and Conversion select the webhooks to delete, and Policy selects the policy. Spokes are the
	// versions whose conversion is deleted; empty means all versions.
	Defaulting, Validation, Conversion, Policy bool
	Spokes                                     []string
	// Force also deletes files that the user has edited.
	Force bool
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// PlanDeleteAPI plans to delete a kind with its controller and all files that [PlanAPI] wrote, in the version of opts
// or in all versions. It keeps files that the user has edited and the files that they need, and notes them. If other
// code needs a deleted file, it returns a *diagnostic.Error.
func PlanDeleteAPI(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("api", opts, opts.Version != ""); err != nil {
		return nil, err
	}
	before := proj.Clone()
	r := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	goes := func(o project.Resource) bool {
		return o.API && o.APIGroup() == r.APIGroup() && o.Kind == r.Kind && (r.Version == "" || o.Version == r.Version)
	}
	at := slices.IndexFunc(proj.Resources, goes)
	if at < 0 {
		return deleteLeftovers(fsys, proj, opts, r)
	}
	var errs []error
	for _, o := range slices.DeleteFunc(slices.Clone(proj.Resources), func(o project.Resource) bool { return !goes(o) }) {
		errs = append(errs, checkDeletable(proj, o, r.Version != ""))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	kept := proj.Resources[at]
	_, further := layout.VersionBefore(proj, kept)
	proj.Resources = slices.DeleteFunc(proj.Resources, goes)
	if next, found := layout.VersionBefore(proj, kept); found && !further {
		// The new first version started as a copy of the deleted version.
		first, _ := proj.Find(next.APIGroup(), next.Version, next.Kind)
		first.APIFlags = slices.Concat(render.WithoutOperand(kept.APIFlags), first.APIFlags)
	}
	for _, v := range proj.Versions(kept) {
		if v.Hub == r.Version {
			v.Hub = ""
		}
		if kept.Controller && v.API && controllerUses(fsys, proj, kept, *v) {
			v.Controller, kept.Controller = true, false // the user has moved the controller to this version
		}
	}
	p, err := planRemoval(fsys, before, proj, opts)
	if others := proj.Versions(kept); err == nil && kept.Controller && len(others) > 0 && !opts.Force {
		return nil, usedByController(proj, kept, *others[0])
	}
	return p, err
}

// usedByController returns the error for a version that cannot be deleted because its controller uses it, although the
// kind continues in another version.
func usedByController(proj *project.Project, r, other project.Resource) error {
	name := layout.KindView(proj, r, "").ControllerFile(".go")
	return diagnostic.Usage(fmt.Sprintf("%s has a controller, which uses it", r),
		fmt.Sprintf("make %s use %s, or kctrl delete controller %s goes first; --force deletes the controller too", name,
			other.Version, namesOf(r, true)))
}

// controllerUses reports whether the controller of a kind uses the types of another version.
func controllerUses(fsys fs.FS, proj *project.Project, r, other project.Resource) bool {
	name := layout.KindView(proj, r, "").ControllerFile(".go")
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return false // the file is deleted, or the plan reports the error
	}
	s, ok := gosource.ParseSource(name, text)
	dir := layout.KindView(proj, other, "").Folder
	return ok && slices.ContainsFunc(s.Idents(proj.Repo), func(i gosource.NamedIdent) bool { return i.Pkg.Folder == dir })
}

// PlanDeleteVersion plans to delete one of several versions of a kind, as [PlanDeleteAPI] does.
func PlanDeleteVersion(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("version", opts, true); err != nil {
		return nil, err
	}
	r, found := proj.Find(project.Resource{Group: opts.Group, Domain: proj.Domain}.APIGroup(), opts.Version, opts.Kind)
	if found && r.API && !layout.HasOthers(proj, *r) {
		return nil, diagnostic.Usage(fmt.Sprintf("%s is the only version of its kind", r),
			fmt.Sprintf("kctrl delete api %s deletes the kind", namesOf(*r, false)))
	}
	return PlanDeleteAPI(fsys, proj, opts)
}

// PlanDeleteController plans to delete a controller, as [PlanDeleteAPI] does.
func PlanDeleteController(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("controller", opts, true); err != nil {
		return nil, err
	}
	r, err := kindToDeleteFrom(proj, opts)
	if err != nil {
		return nil, err
	}
	before := proj.Clone()
	at := slices.Index(r.Controllers, opts.Name)
	switch {
	case opts.Name == "" && r.Controller:
		r.Controller, r.APIFlags = false, render.WithoutOperand(r.APIFlags)
	case at >= 0:
		r.Controllers = slices.Delete(slices.Clone(r.Controllers), at, at+1)
	default:
		left := *r
		left.Controller, left.Controllers = opts.Name == "", nil
		if opts.Name != "" {
			left.Controllers = []string{opts.Name}
		}
		missing := fmt.Sprintf("%s has no controller", r)
		if opts.Name != "" {
			missing += " " + opts.Name
		}
		return planLeftovers(fsys, proj, opts, left, missing, controllerHint(*r))
	}
	dropIdle(proj, *r)
	return planRemoval(fsys, before, proj, opts)
}

// dropIdle removes an external kind from the project if it has no features.
func dropIdle(proj *project.Project, r project.Resource) {
	if r.API || r.Controller || len(r.Controllers)+len(layout.AdmissionsOf(r)) > 0 {
		return
	}
	at := proj.Index(r)
	proj.Resources = slices.Delete(slices.Clone(proj.Resources), at, at+1)
}

// PlanDeleteWebhook plans to delete webhooks of a kind, as [PlanDeleteAPI] does.
func PlanDeleteWebhook(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("webhook", opts, true); err != nil {
		return nil, err
	}
	r, err := kindToDeleteFrom(proj, opts)
	if err != nil {
		return nil, err
	}
	asked := project.Resource{Defaulting: opts.Defaulting, Validation: opts.Validation, Policy: opts.Policy}
	switch {
	case !opts.Conversion && len(layout.AdmissionsOf(asked)) == 0:
		return nil, diagnostic.Usage("no webhook or policy selected", webhookHint(proj, *r))
	case len(opts.Spokes) > 0 && !opts.Conversion:
		return nil, diagnostic.Usage("--spoke requires --conversion", "add --conversion")
	}
	complete := *r // with all admissions to delete, also those whose files an earlier command kept
	for _, a := range layout.AdmissionsOf(asked) {
		*a.Has(&complete) = true
		if *a.Has(r) {
			continue
		}
		left := *r
		*a.Has(&left) = true
		missing := fmt.Sprintf("%s has no %s", r, a.File)
		if _, err := leftovers(fsys, proj, left, missing, webhookHint(proj, *r)); err != nil {
			return nil, err
		}
	}
	before := withResource(proj, complete)
	for _, a := range layout.AdmissionsOf(asked) {
		*a.Has(r), *a.Flags(r) = false, nil
	}
	if opts.Conversion {
		if err := disconnect(proj, *r, opts.Spokes); err != nil {
			return nil, err
		}
	}
	dropIdle(proj, *r)
	return planRemoval(fsys, before, proj, opts)
}

// disconnect removes the hub r from the given versions, or from all versions if spokes is empty.
func disconnect(proj *project.Project, r project.Resource, spokes []string) error {
	if r.Hub != "" {
		return diagnostic.Usage(fmt.Sprintf("%s is converted to %s, so it is not a hub", r, r.Hub),
			"use --version "+r.Hub)
	}
	converted := layout.SpokesOf(proj, r)
	if len(spokes) == 0 {
		for _, s := range converted {
			spokes = append(spokes, s.Version)
		}
	}
	if len(spokes) == 0 {
		return diagnostic.Usage(fmt.Sprintf("no version is converted to %s", r), webhookHint(proj, r))
	}
	for _, version := range spokes {
		if !slices.ContainsFunc(converted, func(s project.Resource) bool { return s.Version == version }) {
			return diagnostic.Usage(fmt.Sprintf("%s is not converted to %s", diagnostic.Quote(version), r),
				webhookHint(proj, r))
		}
		spoke, _ := proj.Find(r.APIGroup(), version, r.Kind)
		spoke.Hub = ""
	}
	return nil
}

// checkDeleteNames rejects missing and invalid names.
func checkDeleteNames(what string, opts DeleteOptions, version bool) error {
	missing := ""
	switch {
	case opts.Kind == "" && opts.Version == "" && what != "api":
		missing = "a version and a kind"
	case opts.Kind == "":
		missing = "a kind"
	case opts.Version == "" && what != "api":
		missing = "a version"
	}
	if missing != "" {
		example := "--group webapp --version v1 --kind Guestbook"
		switch what {
		case "api":
			example = "--group webapp --kind Guestbook"
		case "webhook":
			example += " --defaulting"
		}
		return diagnostic.Usage(fmt.Sprintf("delete %s needs %s", what, missing),
			fmt.Sprintf("kctrl delete %s %s", what, example))
	}
	names := APIOptions{Group: opts.Group, Version: opts.Version, Kind: opts.Kind, Resource: true}
	if !version {
		names.Version = "v1"
	}
	err := validateAPI(names)
	if opts.Name != "" {
		err = errors.Join(err, project.ValidateController(opts.Name))
	}
	return err
}

// kindToDeleteFrom returns the kind that the options name: a kind of the project, a built-in kind, or an external kind
// with features in the project.
func kindToDeleteFrom(proj *project.Project, opts DeleteOptions) (*project.Resource, error) {
	own := project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: opts.Kind}
	builtin := foreignKind(ControllerOptions{Group: opts.Group, Version: opts.Version, Kind: opts.Kind})
	for _, wanted := range []project.Resource{own, builtin} {
		if r, found := proj.Find(wanted.APIGroup(), opts.Version, opts.Kind); found {
			return r, nil
		}
	}
	for i := range proj.Resources {
		r := &proj.Resources[i]
		if r.Path != "" && r.Version == opts.Version && r.Kind == opts.Kind &&
			(r.Group == opts.Group || r.APIGroup() == opts.Group) {
			return r, nil
		}
	}
	return nil, noSuchKind(proj, own)
}

// checkDeletable rejects a kind with features that have their own delete commands, and a version that is the hub of
// other versions.
func checkDeletable(proj *project.Project, r project.Resource, single bool) error {
	first := func(what, with, command string) error {
		return diagnostic.Usage(fmt.Sprintf("%s has %s, which depends on it", r, what),
			fmt.Sprintf("kctrl delete %s %s %s goes first", command, namesOf(r, true), with))
	}
	if len(r.Controllers) > 0 {
		return first("the controller "+r.Controllers[0], "--controller-name "+r.Controllers[0], "controller")
	}
	if hooks := layout.AdmissionsOf(r); len(hooks) > 0 {
		var flags []string
		for _, a := range hooks {
			flags = append(flags, a.Flag)
		}
		return first("a "+hooks[0].File, strings.Join(flags, " "), "webhook")
	}
	if spokes := layout.SpokesOf(proj, r); single && len(spokes) > 1 {
		var versions []string
		for _, s := range spokes {
			versions = append(versions, s.Version)
		}
		return diagnostic.Usage(fmt.Sprintf("%s is the hub that %s are converted to", r, strings.Join(versions, " and ")),
			fmt.Sprintf("kctrl delete webhook %s --conversion goes first", namesOf(r, true)))
	}
	return nil
}
