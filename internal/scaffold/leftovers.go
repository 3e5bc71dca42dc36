package scaffold

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

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

// planLeftovers plans that the files go away that a project would have with r as it is given, if kctrl wrote any of
// those that are there; else it returns a *diagnostic.Error.
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
	for _, part := range render.PartsLost(&before, proj) {
		_, known := lock.Entry(part.Path)
		if _, err := fs.Stat(fsys, part.Path); err == nil && known && !part.Common && !part.Generated && !part.Kustomization {
			return planRemoval(fsys, &before, proj, opts)
		}
	}
	return nil, &diagnostic.Error{Message: missing, Hint: hint, Class: diagnostic.ErrUsage}
}
