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
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// DeleteOptions say what to take out of a project. The names are those that it was created with.
type DeleteOptions struct {
	// Group, Version and Kind name the kind, as in [APIOptions] and [ControllerOptions].
	Group, Version, Kind string
	// Name is that of a further controller of the kind.
	Name string
	// Defaulting, Validation and Conversion say which webhooks go, and Policy that the policy does. Spokes are the
	// versions that are converted no more; empty means all.
	Defaulting, Validation, Conversion, Policy bool
	Spokes                                     []string
	// Force deletes what the user has edited too.
	Force bool
	// Kctrl is the kctrl that deletes.
	Kctrl project.Build
}

// PlanDeleteAPI plans that a kind goes away, with its controller and all that [PlanAPI] wrote: in the version that
// opts name, or in all. What the user has edited stays, with what it needs, and is noted. What others need is a
// *diagnostic.Error.
func PlanDeleteAPI(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("api", opts, opts.Version != ""); err != nil {
		return nil, err
	}
	before := *proj
	before.Resources = slices.Clone(proj.Resources)
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
		// What is the first version now began as a copy of the one that goes.
		first, _ := proj.Find(next.APIGroup(), next.Version, next.Kind)
		first.APIFlags = slices.Concat(render.WithoutOperand(kept.APIFlags), first.APIFlags)
	}
	for _, v := range proj.Versions(kept) {
		if v.Hub == r.Version {
			v.Hub = ""
		}
		if kept.Controller && v.API && controllerUses(fsys, proj, kept, *v) {
			v.Controller, kept.Controller = true, false // to which the user has moved it
		}
	}
	return planRemoval(fsys, &before, proj, opts)
}

// controllerUses reports whether the controller of a kind uses the types of another version.
func controllerUses(fsys fs.FS, proj *project.Project, r, other project.Resource) bool {
	name := templates.NewKind(layout.KindNames(proj, r, "")).ControllerFile(".go")
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return false // it is gone, or the plan reports why it cannot be read
	}
	s, ok := gosource.ParseSource(name, text)
	dir := templates.NewKind(layout.KindNames(proj, other, "")).Folder
	return ok && slices.ContainsFunc(s.Uses(proj.Repo), func(u gosource.Use) bool { return u.Pkg.Folder == dir })
}

// PlanDeleteVersion plans that one of several versions of a kind goes away, as [PlanDeleteAPI] does.
func PlanDeleteVersion(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("version", opts, true); err != nil {
		return nil, err
	}
	r, found := proj.Find(project.Resource{Group: opts.Group, Domain: proj.Domain}.APIGroup(), opts.Version, opts.Kind)
	if found && r.API && !layout.HasOthers(proj, *r) {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("%s is the only version of its kind", r),
			Hint:    fmt.Sprintf("kctrl delete api %s deletes the kind", namesOf(*r, false)),
			Class:   diagnostic.ErrUsage,
		}
	}
	return PlanDeleteAPI(fsys, proj, opts)
}

// PlanDeleteController plans that a controller goes away, as [PlanDeleteAPI] does.
func PlanDeleteController(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("controller", opts, true); err != nil {
		return nil, err
	}
	r, err := kindToDeleteFrom(proj, opts)
	if err != nil {
		return nil, err
	}
	before := *proj
	before.Resources = slices.Clone(proj.Resources)
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
	return planRemoval(fsys, &before, proj, opts)
}

// dropIdle takes a kind that is not the project's own off the project once it has nothing for it.
func dropIdle(proj *project.Project, r project.Resource) {
	if r.API || r.Controller || len(r.Controllers)+len(layout.AdmissionsOf(r)) > 0 {
		return
	}
	proj.Resources = slices.DeleteFunc(slices.Clone(proj.Resources), func(o project.Resource) bool {
		return o.APIGroup() == r.APIGroup() && o.Version == r.Version && o.Kind == r.Kind
	})
}

// PlanDeleteWebhook plans that webhooks of a kind go away, as [PlanDeleteAPI] does.
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
		return nil, &diagnostic.Error{
			Message: "there is nothing to delete without a kind of webhook", Hint: webhookHint(proj, *r), Class: diagnostic.ErrUsage,
		}
	case len(opts.Spokes) > 0 && !opts.Conversion:
		return nil, &diagnostic.Error{
			Message: "spokes are versions that are converted, and no conversion is to be deleted", Hint: "add --conversion", Class: diagnostic.ErrUsage,
		}
	}
	before := *proj
	before.Resources = slices.Clone(proj.Resources)
	for _, a := range layout.AdmissionsOf(asked) {
		if !*a.Has(r) {
			left := *r
			*a.Has(&left) = true
			return planLeftovers(fsys, proj, opts, left, fmt.Sprintf("%s has no %s", r, a.File), webhookHint(proj, *r))
		}
	}
	for _, a := range layout.AdmissionsOf(asked) {
		*a.Has(r), *a.Flags(r) = false, nil
	}
	if opts.Conversion {
		if err := disconnect(proj, *r, opts.Spokes); err != nil {
			return nil, err
		}
	}
	dropIdle(proj, *r)
	return planRemoval(fsys, &before, proj, opts)
}

// disconnect has the project no more convert the given versions to their hub r; none means all of them.
func disconnect(proj *project.Project, r project.Resource, spokes []string) error {
	if r.Hub != "" {
		return &diagnostic.Error{
			Message: fmt.Sprintf("%s is converted to %s, so it is no hub itself", r, r.Hub), Hint: "use --version " + r.Hub, Class: diagnostic.ErrUsage,
		}
	}
	converted := layout.SpokesOf(proj, r)
	if len(spokes) == 0 {
		for _, s := range converted {
			spokes = append(spokes, s.Version)
		}
	}
	if len(spokes) == 0 {
		return &diagnostic.Error{
			Message: fmt.Sprintf("no version is converted to %s", r), Hint: webhookHint(proj, r), Class: diagnostic.ErrUsage,
		}
	}
	for _, version := range spokes {
		if !slices.ContainsFunc(converted, func(s project.Resource) bool { return s.Version == version }) {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s is not converted to %s", diagnostic.Quote(version), r), Hint: webhookHint(proj, r), Class: diagnostic.ErrUsage,
			}
		}
		spoke, _ := proj.Find(r.APIGroup(), version, r.Kind)
		spoke.Hub = ""
	}
	return nil
}

// checkDeleteNames refuses names that no kind can have, and says which are missing.
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
		return &diagnostic.Error{
			Message: fmt.Sprintf("delete %s needs %s", what, missing), Hint: fmt.Sprintf("kctrl delete %s %s", what, example), Class: diagnostic.ErrUsage,
		}
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

// kindToDeleteFrom returns the kind that opts name: the project's own, a built-in one, or one of somebody else that
// the project has something for.
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
		if r.Path != "" && r.Version == opts.Version && r.Kind == opts.Kind && (r.Group == opts.Group || r.APIGroup() == opts.Group) {
			return r, nil
		}
	}
	return nil, noSuchKind(proj, own)
}

// checkDeletable refuses a kind with parts that commands of their own delete, and a version that the others need.
func checkDeletable(proj *project.Project, r project.Resource, single bool) error {
	first := func(what, with, command string) error {
		return &diagnostic.Error{
			Message: fmt.Sprintf("%s has %s, which would be left without it", r, what),
			Hint:    fmt.Sprintf("kctrl delete %s %s %s goes first", command, namesOf(r, true), with),
			Class:   diagnostic.ErrUsage,
		}
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
		return &diagnostic.Error{
			Message: fmt.Sprintf("%s is the hub that %s are converted to", r, strings.Join(versions, " and ")),
			Hint:    fmt.Sprintf("kctrl delete webhook %s --conversion goes first", namesOf(r, true)),
			Class:   diagnostic.ErrUsage,
		}
	}
	return nil
}
