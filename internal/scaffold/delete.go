package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// DeleteOptions say what to take out of a project. The names are those that it was created with.
type DeleteOptions struct {
	// Group, Version and Kind name the kind, as in [APIOptions] and [ControllerOptions].
	Group, Version, Kind string
	// Name is that of a further controller of the kind.
	Name string
	// Defaulting, Validation and Conversion say which webhooks go, and Policy that the policy does. Spokes are the versions that are
	// converted no more; empty means all.
	Defaulting, Validation, Conversion, Policy bool
	Spokes                                     []string
	// Force deletes what the user has edited too.
	Force bool
	// Kctrl is the kctrl that deletes.
	Kctrl Build
}

// PlanDeleteAPI plans that a kind goes away, with its controller and all that [PlanAPI] wrote: in the version that opts name, or in
// all. What the user has edited stays, with what it needs, and is noted. What others need is a *diagnostic.Error.
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
	_, further := versionBefore(proj, kept)
	proj.Resources = slices.DeleteFunc(proj.Resources, goes)
	if next, found := versionBefore(proj, kept); found && !further {
		// What is the first version now began as a copy of the one that goes.
		first, _ := proj.Find(next.APIGroup(), next.Version, next.Kind)
		first.APIFlags = slices.Concat(withoutOperand(kept.APIFlags), first.APIFlags)
	}
	for _, v := range proj.Versions(kept) {
		if v.Hub == r.Version {
			v.Hub = ""
		}
	}
	return planRemoval(fsys, &before, proj, opts)
}

// PlanDeleteVersion plans that one of several versions of a kind goes away, as [PlanDeleteAPI] does.
func PlanDeleteVersion(fsys fs.FS, proj *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if err := checkDeleteNames("version", opts, true); err != nil {
		return nil, err
	}
	r, found := proj.Find(project.Resource{Group: opts.Group, Domain: proj.Domain}.APIGroup(), opts.Version, opts.Kind)
	if found && r.API && !hasOthers(proj, *r) {
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
		r.Controller, r.APIFlags = false, withoutOperand(r.APIFlags)
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
	if r.API || r.Controller || len(r.Controllers)+len(admissionsOf(r)) > 0 {
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
	case !opts.Conversion && len(admissionsOf(asked)) == 0:
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
	for _, a := range admissionsOf(asked) {
		if !*a.has(r) {
			left := *r
			*a.has(&left) = true
			return planLeftovers(fsys, proj, opts, left, fmt.Sprintf("%s has no %s", r, a.file), webhookHint(proj, *r))
		}
	}
	for _, a := range admissionsOf(asked) {
		*a.has(r), *a.flags(r) = false, nil
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
	converted := spokesOf(proj, r)
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

// kindToDeleteFrom returns the kind that opts name: the project's own, a built-in one, or one of somebody else that the project has
// something for.
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

// noSuchKind says that the project has no kind of a name, and which one it has.
func noSuchKind(proj *project.Project, wanted project.Resource) error {
	e := &diagnostic.Error{
		Message: fmt.Sprintf("there is no kind %s in the project", strings.Replace(wanted.String(), "/.", "/*.", 1)),
		Hint:    "the project has no kinds",
		Class:   diagnostic.ErrUsage,
	}
	var all []string
	for _, r := range proj.Resources {
		all = append(all, r.String())
		if r.Kind == wanted.Kind {
			e.Hint = "use " + namesOf(r, true)
			return e
		}
	}
	if len(all) > 0 {
		e.Hint = "the kinds of the project are " + strings.Join(all, ", ")
	}
	return e
}

// namesOf returns the flags that name a kind.
func namesOf(r project.Resource, version bool) string {
	group := r.Group
	if group == "" && strings.HasPrefix(r.Path, "k8s.io/api/") {
		group = "core"
	}
	flags := ""
	if group != "" {
		flags = "--group " + group + " "
	}
	if version {
		flags += "--version " + r.Version + " "
	}
	return flags + "--kind " + r.Kind
}

func controllerHint(r project.Resource) string {
	switch {
	case len(r.Controllers) > 0:
		return "its controllers have the names " + strings.Join(r.Controllers, ", ")
	case r.Controller:
		return "leave --controller-name out"
	}
	return "kctrl create controller " + namesOf(r, true) + " makes one"
}

// webhookHint says which webhooks there are to delete.
func webhookHint(proj *project.Project, r project.Resource) string {
	if flags := webhookFlags(proj, r); flags != "" {
		return "it has what " + flags + " names"
	}
	if r.Hub != "" {
		return "its conversion goes with --conversion --version " + r.Hub
	}
	return "it has no webhooks"
}

// webhookFlags returns the flags that name all webhooks of a kind.
func webhookFlags(proj *project.Project, r project.Resource) string {
	var flags []string
	for _, a := range admissionsOf(r) {
		flags = append(flags, a.flag)
	}
	if len(spokesOf(proj, r)) > 0 {
		flags = append(flags, "--conversion")
	}
	return strings.Join(flags, " ")
}

func hasOthers(proj *project.Project, r project.Resource) bool {
	return slices.ContainsFunc(proj.Versions(r), func(v *project.Resource) bool { return v.API })
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
	if hooks := admissionsOf(r); len(hooks) > 0 {
		var flags []string
		for _, a := range hooks {
			flags = append(flags, a.flag)
		}
		return first("a "+hooks[0].file, strings.Join(flags, " "), "webhook")
	}
	if spokes := spokesOf(proj, r); single && len(spokes) > 1 {
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

// checkStored refuses to delete the version of a kind that API servers store while there are others.
func checkStored(p *plan.Plan, before, after *project.Project) error {
	for _, r := range before.Resources {
		if _, stays := after.Find(r.APIGroup(), r.Version, r.Kind); stays || !r.API || !hasOthers(after, r) {
			continue
		}
		name, text, err := typeFile(p, before, r)
		if err != nil || !edit.HasMarker(text, "", r.Kind, storageMarker) {
			continue // a type that is gone already stores nothing
		}
		return &diagnostic.Error{
			Pos:     token.Position{Filename: name},
			Message: fmt.Sprintf("%s is the version that API servers store", r),
			Hint:    fmt.Sprintf("move // %s to the type of another version, have the stored objects written again, and delete it then", storageMarker),
			Class:   diagnostic.ErrUsage,
		}
	}
	return nil
}

// deleteLeftovers plans that what an earlier delete has kept of a kind goes away.
func deleteLeftovers(fsys fs.FS, proj *project.Project, opts DeleteOptions, r project.Resource) (*plan.Plan, error) {
	missing, ok := errors.AsType[*diagnostic.Error](noSuchKind(proj, r))
	if !ok || r.Version == "" {
		return nil, missing
	}
	r.Plural, r.API, r.Controller = project.Plural(r.Kind), true, true
	for _, other := range proj.Versions(r) {
		r.Plural, r.Hub = other.Plural, other.Version
		r.Controller = r.Controller && !other.Controller
	}
	return planLeftovers(fsys, proj, opts, r, missing.Message, missing.Hint)
}

// planLeftovers plans that the files go away that a project would have with r as it is given, if kctrl wrote any of those that are there;
// else it returns a *diagnostic.Error.
func planLeftovers(fsys fs.FS, proj *project.Project, opts DeleteOptions, r project.Resource, missing, hint string) (*plan.Plan, error) {
	before := *proj
	before.Resources = slices.DeleteFunc(slices.Clone(proj.Resources), func(o project.Resource) bool {
		return o.APIGroup() == r.APIGroup() && o.Version == r.Version && o.Kind == r.Kind
	})
	before.Resources = append(before.Resources, r)
	lock, err := project.LoadLock(fsys)
	if err != nil {
		return nil, err
	}
	for _, part := range partsLost(&before, proj) {
		_, known := lock.Entry(part.path)
		if _, err := fs.Stat(fsys, part.path); err == nil && known && !part.common && !part.generated && !part.kustomization {
			return planRemoval(fsys, &before, proj, opts)
		}
	}
	return nil, &diagnostic.Error{Message: missing, Hint: hint, Class: diagnostic.ErrUsage}
}

// removal takes parts out of a project.
type removal struct {
	plan  *plan.Plan
	repo  string
	force bool
	// parts are all that go or, if they are in kept, would.
	parts []part
	// kept says why a file stays, by path.
	kept map[string]string
}

// planRemoval plans that a project of one state comes into another, which has less.
func planRemoval(fsys fs.FS, before, after *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if _, found := webhooksView(after); !found {
		after.Certificates = ""
	}
	p := plan.New(fsys)
	if err := rebuildLock(p, before, opts.Kctrl); err != nil {
		return nil, err
	}
	if err := errors.Join(PlanRuntime(p, before), checkStored(p, before, after)); err != nil {
		return nil, err
	}
	sources, err := goSources(p)
	if err != nil {
		return nil, err
	}
	lost := partsLost(before, after)
	if others, err := othersWebhooks(p); err != nil {
		return nil, err
	} else if others { // and may have webhooks that kctrl does not know of
		lost = slices.DeleteFunc(lost, func(p part) bool { return path.Dir(p.path) == webhookFolder })
	}
	r := &removal{plan: p, repo: after.Repo, force: opts.Force, parts: lost, kept: map[string]string{}}
	for _, step := range []func() error{
		r.keepEdited,
		func() error { return r.keepNeeded(sources) },
		r.remove,
		func() error { return deployWebhooks(p, after) },
		func() error { return unmarkStored(p, before, after) },
		func() error { return leaveSchemes(p, before, after) },
		func() error { return writeRegistration(p, after) },
		func() error { return r.releaseModules(after, sources) },
		func() error { return writeProject(p, after) },
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// keepEdited keeps the files that the user has edited, or that were never kctrl's.
func (r *removal) keepEdited() error {
	lock, _, err := r.plan.Lock()
	if err != nil || r.force {
		return err
	}
	for _, part := range r.parts {
		if part.generated || part.kustomization {
			continue
		}
		text, err := r.plan.Read(part.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		if _, known := lock.Entry(part.path); !known {
			r.kept[part.path] = "was not written by kctrl, so it is kept"
		} else if lock.Touched(part.path, text) {
			r.kept[part.path] = "has been edited since kctrl wrote it, so it is kept"
		}
	}
	return nil
}

// keepNeeded keeps what Go files need that are kept, and refuses to delete what any other file needs.
func (r *removal) keepNeeded(sources []goSource) error {
	for {
		goes := r.going(sources)
		declared := map[goName]string{}
		for _, s := range sources {
			if goes[s.name] {
				for _, name := range s.declares() {
					declared[name] = s.name
				}
			}
		}
		needed, err := r.needed(sources, goes, declared)
		if err != nil || len(needed) == 0 {
			return err
		}
		for name, by := range needed {
			r.kept[name] = fmt.Sprintf("is needed by %s, which is kept, so it is kept too", by)
		}
	}
}

// needed returns the files that go and that kept ones need, each with one that does.
func (r *removal) needed(sources []goSource, goes map[string]bool, declared map[goName]string) (map[string]string, error) {
	needed := map[string]string{}
	var errs []error
	for _, s := range sources {
		if goes[s.name] {
			continue
		}
		for _, u := range s.uses(r.repo) {
			owner, found := declared[u.goName]
			if !found || u.name == "init" || u.name == "_" {
				continue
			}
			if _, kept := r.kept[s.name]; kept {
				needed[owner] = s.name
				continue
			}
			errs = append(errs, &diagnostic.Error{
				Pos:     u.at,
				Message: fmt.Sprintf("needs %s, which %s declares and which would go away", u.name, owner),
				Hint:    "take it out there first, or delete what this file belongs to",
			})
			break
		}
	}
	return needed, errors.Join(errs...)
}

// going returns the Go files that go away: those of the parts that are not kept, and what packages have in common where nothing else
// of them stays.
func (r *removal) going(sources []goSource) map[string]bool {
	goes, common := map[string]bool{}, map[string]bool{}
	for _, part := range r.parts {
		if _, kept := r.kept[part.path]; !kept {
			goes[part.path] = true
			common[part.path] = part.common
		}
	}
	stays := map[string]bool{}
	for _, s := range sources {
		if !goes[s.name] {
			stays[path.Dir(s.name)] = true
		}
	}
	for name := range goes {
		if common[name] && stays[path.Dir(name)] {
			delete(goes, name)
		}
	}
	return goes
}

// remove plans that the parts go away, and that nothing lists them. Kustomizations come last, when what they list of the project's is off.
func (r *removal) remove() error {
	sources, err := goSources(r.plan)
	if err != nil {
		return err
	}
	goes := r.going(sources)
	for _, part := range r.parts {
		if part.kustomization {
			continue
		}
		why, kept := r.kept[part.path]
		switch {
		case kept:
			r.note(part.path, why)
		case goes[part.path]:
			if err := r.plan.Delete(part.path, plan.Own); err != nil {
				return err
			}
		}
		if err := r.unlist(part); err != nil {
			return err
		}
	}
	for _, part := range r.parts {
		if part.kustomization {
			if err := r.removeList(part); err != nil {
				return err
			}
		}
	}
	return r.removeGenerated(sources, goes)
}

// note tells the user of a file that is kept.
func (r *removal) note(name, why string) {
	r.plan.Note(&diagnostic.Error{
		Pos: token.Position{Filename: name}, Message: why, Hint: "the same command with --force deletes it, or delete it by hand",
	})
}

// unlist takes a part off the lists that name it.
func (r *removal) unlist(p part) error {
	for _, l := range p.listings {
		name, found, err := Kustomization(r.plan, l.folder)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		text, err := r.plan.Read(name)
		if err != nil {
			return err
		}
		edited, err := edit.RemoveListItem(text, name, []string{l.list}, l.item)
		if err != nil {
			return err
		}
		if err := r.plan.WriteFile(plan.File{Path: name, Content: edited, Policy: plan.Edit}); err != nil {
			return err
		}
	}
	return nil
}

// removeList plans that a kustomization goes away, unless it has more than kctrl has listed there.
func (r *removal) removeList(p part) error {
	name, found, err := Kustomization(r.plan, path.Dir(p.path))
	if err != nil || !found {
		return err
	}
	text, err := r.plan.Read(name)
	if err != nil {
		return err
	}
	lock, _, err := r.plan.Lock()
	if err != nil {
		return err
	}
	if lock.Touched(name, text) && len(listedFiles(text, name)) > 0 {
		return nil // of a user's own, deployed as before
	}
	if lock.Touched(name, text) && !r.force {
		r.note(name, "has been edited since kctrl wrote it, so it is kept")
	} else if err := r.plan.Delete(name, plan.Own); err != nil {
		return err
	}
	return r.unlist(p)
}

// removeGenerated plans that the generated files go away of packages that have no others any more.
func (r *removal) removeGenerated(sources []goSource, goes map[string]bool) error {
	stays, left := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		if !goes[s.name] {
			stays[path.Dir(s.name)] = true
		}
	}
	for name := range goes {
		if folder := path.Dir(name); path.Ext(name) == ".go" && !stays[folder] {
			left[folder] = true
		}
	}
	for folder := range left {
		names, err := fs.Glob(r.plan.FS(), path.Join(folder, "zz_generated.*.go"))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := r.plan.Delete(name, plan.Own); err != nil {
				return err
			}
		}
	}
	return nil
}

// unmarkStored takes the marker of the stored version off a kind that has one version left.
func unmarkStored(p *plan.Plan, before, after *project.Project) error {
	for _, r := range after.Resources {
		if !r.API || hasOthers(after, r) || !hasOthers(before, r) {
			continue
		}
		name, text, err := typeFile(p, after, r)
		if err != nil {
			return err
		}
		if text, err = edit.RemoveMarker(text, name, r.Kind, storageMarker); err != nil {
			return err
		}
		if err := p.WriteFile(plan.File{Path: name, Content: text, Policy: plan.Edit}); err != nil {
			return err
		}
	}
	return nil
}

// inMemoryPackage is what tests on an API server in memory import.
const inMemoryPackage = runtimeModule + "/runtime/testenv/inmemory"

// releaseModules has go.mod and go.sum say what they said before the files that go away were there: which modules the project imports
// itself, and those that only tests in memory need.
func (r *removal) releaseModules(proj *project.Project, before []goSource) error {
	sources, err := goSources(r.plan)
	if err != nil {
		return err
	}
	imported, left := importedBy(before), importedBy(sources)
	mod, sum := templates.InMemoryModules()
	if imported[inMemoryPackage] != "" && left[inMemoryPackage] == "" {
		if err := dropModules(r.plan, proj, mod, sum); err != nil {
			return err
		}
	}
	return editRequirements(r.plan, func(file *modfile.File) bool {
		changed := false
		for _, m := range file.Require {
			if !m.Indirect && importsOf(m, file, imported) && !importsOf(m, file, left) {
				m.Indirect, changed = true, true
			}
		}
		return changed
	})
}

// importsOf reports whether any of some import paths is of a module, and of no other with a longer path.
func importsOf(m *modfile.Require, file *modfile.File, imported map[string]string) bool {
	for importPath := range imported {
		longest := ""
		for _, other := range file.Require {
			if within(importPath, other.Mod.Path) && len(other.Mod.Path) > len(longest) {
				longest = other.Mod.Path
			}
		}
		if longest == m.Mod.Path {
			return true
		}
	}
	return false
}

// within reports whether a module of a path would have a package.
func within(importPath, modulePath string) bool {
	return importPath == modulePath || strings.HasPrefix(importPath, modulePath+"/")
}

// dropModules takes out of go.mod and go.sum what others have and the project of kctrl alone would not, unless the user has required
// modules: what these need nobody can say without asking the go command.
func dropModules(p *plan.Plan, proj *project.Project, mod, sum templates.Template[templates.ModuleView]) error {
	view := templates.ModuleView{Repo: proj.Repo, RuntimeVersion: "v0.0.0"}
	lists := [][]templates.Template[templates.ModuleView]{templates.Modules()[:2]}
	if proj.Runtime == project.Module {
		lists[0] = templates.PublishedModules()
	}
	lock, _, err := p.Lock()
	if err != nil {
		return err
	}
	if hasApplyConfigurations(p, lock) {
		goMod, goSum := templates.ApplyConfigurationModules()
		lists = append(lists, []templates.Template[templates.ModuleView]{goMod, goSum})
	}
	dropped, err := mod.Render(view)
	if err != nil {
		return err
	}
	droppedSums, err := sum.Render(view)
	if err != nil {
		return err
	}
	needed, sums := map[string]bool{}, map[string]bool{}
	for _, list := range lists {
		goMod, err := list[0].Render(view)
		goSum, failure := list[1].Render(view)
		if err := errors.Join(err, failure); err != nil {
			return err
		}
		for name := range requiredBy(goMod) {
			needed[name] = true
		}
		for line := range strings.Lines(string(goSum)) {
			sums[line] = true
		}
	}
	drop := requiredBy(dropped)
	foreign := false
	err = editRequirements(p, func(file *modfile.File) bool {
		changed := false
		for _, m := range file.Require {
			foreign = foreign || !needed[m.Mod.Path] && !drop[m.Mod.Path] && m.Mod.Path != runtimeModule && !strings.HasPrefix(m.Mod.Path, "k8s.io/api")
		}
		for _, m := range slices.Clone(file.Require) {
			if !foreign && drop[m.Mod.Path] && !needed[m.Mod.Path] {
				changed = file.DropRequire(m.Mod.Path) == nil || changed
			}
		}
		file.Require = slices.DeleteFunc(file.Require, func(m *modfile.Require) bool { return m.Mod.Path == "" })
		return changed
	})
	if foreign {
		p.Note(&diagnostic.Error{
			Pos:     token.Position{Filename: goModFile},
			Message: "requires modules of yours beside those that tests in memory needed, so these are left",
			Hint:    "go mod tidy takes out what nothing needs any more",
		})
	}
	if err != nil || foreign {
		return err
	}
	return dropSums(p, string(droppedSums), sums)
}

// requiredBy returns the modules that a go.mod requires.
func requiredBy(goMod []byte) map[string]bool {
	required := map[string]bool{}
	if file, err := modfile.Parse(goModFile, goMod, nil); err == nil {
		for _, m := range file.Require {
			required[m.Mod.Path] = true
		}
	}
	return required
}

// dropSums takes the lines of one text out of go.sum that are not in a set.
func dropSums(p *plan.Plan, dropped string, needed map[string]bool) error {
	const name = "go.sum"
	text, err := p.Read(name)
	if err != nil {
		return missingFile(name, err, "go mod tidy makes it")
	}
	gone := map[string]bool{}
	for line := range strings.Lines(dropped) {
		gone[line] = !needed[line]
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(line string) bool { return gone[line] })
	return p.WriteFile(plan.File{Path: name, Content: []byte(strings.Join(lines, "")), Policy: plan.Edit})
}
