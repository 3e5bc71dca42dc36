package scaffold

import (
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gomod"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/register"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

// removal takes parts out of a project.
type removal struct {
	plan          *plan.Plan
	before, after *project.Project
	force         bool
	// parts are all that go or, if they are in kept, would.
	parts []render.Part
	// kept says why a file stays, by path.
	kept map[string]string
}

// planRemoval plans that a project of one state comes into another, which has less.
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
	lost := render.PartsLost(before, after)
	if others, err := render.OthersWebhooks(p); err != nil {
		return nil, err
	} else if others { // and may have webhooks that kctrl does not know of
		lost = slices.DeleteFunc(lost, func(p render.Part) bool { return path.Dir(p.Path) == layout.WebhookDir })
	}
	r := &removal{plan: p, before: before, after: after, force: opts.Force, parts: lost, kept: map[string]string{}}
	return p, plan.InOrder(
		r.keepEdited,
		func() error { return r.keepNeeded(sources) },
		r.remove,
		func() error { return render.DeployWebhooks(p, after) },
		func() error { return unmarkStored(p, before, after) },
		func() error { return register.LeaveSchemes(p, before, after) },
		func() error { return render.WriteRegistration(p, after) },
		func() error { return r.releaseModules(imported) },
		func() error { return templated.WriteProject(p, after) },
	)
}

// keepEdited keeps the files that the user has edited, or that were never kctrl's.
func (r *removal) keepEdited() error {
	lock, _, err := r.plan.Lock()
	if err != nil || r.force {
		return err
	}
	for _, part := range r.parts {
		if part.Generated || part.Kustomization {
			continue
		}
		text, err := r.plan.Read(part.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		if _, known := lock.Entry(part.Path); !known {
			r.kept[part.Path] = "was not written by kctrl, so it is kept"
		} else if lock.Touched(part.Path, text) {
			r.kept[part.Path] = "has been edited since kctrl wrote it, so it is kept"
		}
	}
	return nil
}

// keepNeeded keeps what Go files need that are kept, and refuses to delete what any other file needs.
func (r *removal) keepNeeded(sources []gosource.GoSource) error {
	for {
		goes := r.going(sources)
		declared := map[gosource.GoName]string{}
		for _, s := range sources {
			if goes[s.Name] {
				for _, name := range s.Declares() {
					declared[name] = s.Name
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
func (r *removal) needed(sources []gosource.GoSource, goes map[string]bool, declared map[gosource.GoName]string) (map[string]string, error) {
	needed := map[string]string{}
	var errs []error
	for _, s := range sources {
		if goes[s.Name] {
			continue
		}
		for _, u := range s.Uses(r.after.Repo) {
			owner, found := declared[u.GoName]
			if !found || u.Name == "init" || u.Name == "_" {
				continue
			}
			if _, kept := r.kept[s.Name]; kept {
				needed[owner] = s.Name
				continue
			}
			errs = append(errs, &diagnostic.Error{
				Pos:     u.At,
				Message: fmt.Sprintf("needs %s, which %s declares and which would go away", u.Name, owner),
				Hint:    "take it out there first, or delete what this file belongs to",
			})
			break
		}
	}
	return needed, errors.Join(errs...)
}

// going returns the Go files that go away: those of the parts that are not kept, and what packages have in common
// where nothing else of them stays.
func (r *removal) going(sources []gosource.GoSource) map[string]bool {
	goes, common := map[string]bool{}, map[string]bool{}
	for _, part := range r.parts {
		if _, kept := r.kept[part.Path]; !kept {
			goes[part.Path] = true
			common[part.Path] = part.Common
		}
	}
	stays := map[string]bool{}
	for _, s := range sources {
		if !goes[s.Name] {
			stays[path.Dir(s.Name)] = true
		}
	}
	for name := range goes {
		if common[name] && stays[path.Dir(name)] {
			delete(goes, name)
		}
	}
	return goes
}

// remove plans that the parts go away, and that nothing lists them. Kustomizations come last, when what they list of
// the project's is off.
func (r *removal) remove() error {
	sources, err := gosource.GoSources(r.plan, r.before)
	if err != nil {
		return err
	}
	goes := r.going(sources)
	for _, part := range r.parts {
		if part.Kustomization {
			continue
		}
		why, kept := r.kept[part.Path]
		switch {
		case kept:
			if err := r.noteKept(part.Path, why); err != nil {
				return err
			}
		case goes[part.Path]:
			if err := r.plan.Delete(part.Path, plan.Own); err != nil {
				return err
			}
		}
		if err := r.unlist(part); err != nil {
			return err
		}
	}
	for _, part := range r.parts {
		if part.Kustomization {
			if err := r.removeList(part); err != nil {
				return err
			}
		}
	}
	return r.removeGenerated(sources, goes)
}

// noteKept tells the user of a part that is kept: one whose marker still deploys a webhook, which then nobody serves,
// too.
func (r *removal) noteKept(name, why string) error {
	text, err := r.plan.Read(name)
	if err == nil && path.Ext(name) == ".go" && len(gosource.WebhookMarkers(text)) > 0 {
		r.plan.Note(&diagnostic.Error{
			Pos: token.Position{Filename: name}, Message: why + "; API servers go on calling the webhook of its marker, and the manager does not serve it any more",
			Hint: "take the marker out, or delete the file: the same command with --force does",
		})
		return nil
	}
	r.note(name, why)
	return err
}

// note tells the user of a file that is kept.
func (r *removal) note(name, why string) {
	r.plan.Note(&diagnostic.Error{
		Pos: token.Position{Filename: name}, Message: why, Hint: "the same command with --force deletes it, or delete it by hand",
	})
}

// unlist takes a part off the lists that name it.
func (r *removal) unlist(p render.Part) error {
	for _, l := range p.Listings {
		name, found, err := templated.Kustomization(r.plan, l.Folder)
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
		edited, err := edit.RemoveListItem(text, name, []string{l.List}, l.Item)
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
func (r *removal) removeList(p render.Part) error {
	name, found, err := templated.Kustomization(r.plan, path.Dir(p.Path))
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
	if lock.Touched(name, text) && len(templated.ListedFiles(text, name)) > 0 {
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
func (r *removal) removeGenerated(sources []gosource.GoSource, goes map[string]bool) error {
	stays, left := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		if !goes[s.Name] {
			stays[path.Dir(s.Name)] = true
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
