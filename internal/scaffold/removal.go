package scaffold

import (
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/refactor"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// planRemoval plans to change a project to a state with fewer features.
func planRemoval(fsys fs.FS, before, after *project.Project, opts DeleteOptions) (*plan.Plan, error) {
	if _, found := layout.WebhooksView(after); !found {
		after.Certificates = ""
	}
	p, err := render.BeginPlan(fsys, before, opts.Kctrl)
	if err != nil {
		return nil, err
	}
	if err := checkStored(p, before, after); err != nil {
		return nil, err
	}
	sources, err := gosource.GoSources(p, before)
	if err != nil {
		return nil, err
	}
	imported, err := gomod.ImportsOfProject(p, before)
	if err != nil {
		return nil, err
	}
	conflicts, err := sync.Sync(p, render.Outline(before), render.Outline(after), sync.Options{
		Force: opts.Force,
		Keep: func(goes map[string]bool, kept map[string]string) error {
			return refactor.KeepNeeded(sources, after.Repo, goes, kept)
		},
	})
	if err != nil {
		return nil, err
	}
	for i, c := range conflicts {
		text, err := p.Read(c.Pos.Filename)
		if paths := gosource.WebhookPaths(text); err == nil && path.Ext(c.Pos.Filename) == ".go" && len(paths) > 0 {
			conflicts[i].Message += "; " + gosource.UnservedWebhook(strings.Join(paths, " and "))
			conflicts[i].Hint = "remove the marker, or delete the file: the same command with --force does"
		}
	}
	return p, plan.InOrder(
		func() error { return noteConflicts(p, conflicts) },
		func() error { return render.DeployWebhooks(p, after) },
		func() error { return unmarkStored(p, before, after) },
		func() error { return register.LeaveSchemes(p, before, after) },
		func() error { return render.WriteRegistration(p, after) },
		func() error { return gomod.ReleaseModules(p, imported, after) },
		func() error { return templated.WriteProject(p, after) },
	)
}

// deleteLeftovers plans to delete the files of a kind that an earlier delete command kept.
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

// planLeftovers plans to delete the files that the project would have with r, if [leftovers] finds some.
func planLeftovers(fsys fs.FS, proj *project.Project, opts DeleteOptions, r project.Resource, missing,
	hint string) (*plan.Plan, error) {
	before, err := leftovers(fsys, proj, r, missing, hint)
	if err != nil {
		return nil, err
	}
	return planRemoval(fsys, before, proj, opts)
}

// leftovers returns the project with r, if kctrl wrote at least one of the existing files that it would then have in
// addition. Otherwise it returns a *diagnostic.Error.
func leftovers(fsys fs.FS, proj *project.Project, r project.Resource, missing, hint string) (*project.Project, error) {
	before := withResource(proj, r)
	lock, err := project.LoadLock(fsys)
	if err != nil {
		return nil, err
	}
	after := render.Outline(proj)
	for _, f := range render.Outline(before).Files() {
		_, stays := after.File(f.Path)
		_, known := lock.Entry(f.Path)
		isOfKind := f.Owner == plan.Shared || f.Owner == plan.API
		if _, err := fs.Stat(fsys, f.Path); err == nil && known && isOfKind && !stays {
			return before, nil
		}
	}
	return nil, diagnostic.Usage(missing, hint)
}

// withResource returns the project with r, which replaces the resource with the same kind and version.
func withResource(proj *project.Project, r project.Resource) *project.Project {
	changed := proj.Clone()
	if at := proj.Index(r); at >= 0 {
		changed.Resources[at] = r
	} else {
		changed.Resources = append(changed.Resources, r)
	}
	return changed
}
