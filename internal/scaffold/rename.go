package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
)

// RenameOptions say what of a project gets another name.
type RenameOptions struct {
	// Group, Version and Kind name what is renamed: a kind by its group and name, in all its versions; a version by its
	// group and name, with all kinds that have it; a group by its name.
	Group, Version, Kind string
	// To is the new name.
	To string
	// Plural is the new name of the resource of a kind; empty means the English plural.
	Plural string
	// Force writes what is edited where kctrl has to change it too, between the markers of git.
	Force bool
	// Base has what a file was edited from, for upgrades to come. It may be nil.
	Base sync.History
	// Kctrl is the kctrl that renames.
	Kctrl project.Build
}

// PlanRenameKind plans that a kind has another name: its types, its files, what is named after it, and what names it.
func PlanRenameKind(fsys fs.FS, proj *project.Project, opts RenameOptions) (*plan.Plan, error) {
	if err := cmp.Or(needsNames("kind", opts.Kind, opts), project.ValidateKind(opts.To)); err != nil {
		return nil, err
	}
	group := project.Resource{Group: opts.Group, Domain: proj.Domain}.APIGroup()
	plural := cmp.Or(opts.Plural, project.Plural(opts.To))
	return planRename(fsys, proj, opts, func(r *project.Resource) bool {
		if r.APIGroup() != group || r.Kind != opts.Kind {
			return false
		}
		r.Kind, r.Plural = opts.To, plural
		return true
	})
}

// PlanRenameVersion plans that a version of a group has another name, with all kinds of it.
func PlanRenameVersion(fsys fs.FS, proj *project.Project, opts RenameOptions) (*plan.Plan, error) {
	if err := cmp.Or(needsNames("version", opts.Version, opts), project.ValidateVersion(opts.To)); err != nil {
		return nil, err
	}
	group := project.Resource{Group: opts.Group, Domain: proj.Domain}.APIGroup()
	return planRename(fsys, proj, opts, func(r *project.Resource) bool {
		if r.APIGroup() != group {
			return false
		}
		if r.Hub == opts.Version {
			r.Hub = opts.To
		}
		if r.Version != opts.Version {
			return false
		}
		r.Version = opts.To
		return true
	})
}

// PlanRenameGroup plans that a group has another name, with all kinds of it.
func PlanRenameGroup(fsys fs.FS, proj *project.Project, opts RenameOptions) (*plan.Plan, error) {
	if err := cmp.Or(needsNames("group", opts.Group, opts), project.ValidateGroup(opts.To)); err != nil {
		return nil, err
	}
	return planRename(fsys, proj, opts, func(r *project.Resource) bool {
		if r.Group != opts.Group || r.Domain != proj.Domain {
			return false
		}
		r.Group = opts.To
		return true
	})
}

// needsNames refuses a command line that does not say what is renamed, or to what.
func needsNames(what, name string, opts RenameOptions) error {
	missing := ""
	switch {
	case name == "":
		missing = "--" + what
	case opts.To == "":
		missing = "--to"
	default:
		return nil
	}
	example := map[string]string{
		"kind": "--group webapp --kind Guestbook --to Visitor", "version": "--group webapp --version v1alpha1 --to v1beta1", "group": "--group webapp --to web",
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("rename %s needs %s", what, missing), Hint: fmt.Sprintf("kctrl rename %s %s", what, example[what]), Class: diagnostic.ErrUsage,
	}
}

// planRename plans what follows from other names of the kinds that rename changes.
func planRename(fsys fs.FS, proj *project.Project, opts RenameOptions, rename func(*project.Resource) bool) (*plan.Plan, error) {
	before := *proj
	before.Resources = slices.Clone(proj.Resources)
	found := false
	after := slices.Clone(proj.Resources)
	for i := range after {
		if after[i].Path == "" && rename(&after[i]) {
			found = true
		}
	}
	if !found {
		return nil, noSuchKind(proj, project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version, Kind: cmp.Or(opts.Kind, "*")})
	}
	proj.Resources = nil
	for _, r := range after {
		if err := errors.Join(checkServedIfOwn(proj, r), proj.Add(r)); err != nil {
			return nil, err
		}
	}
	if err := checkOneGroup(proj); err != nil {
		return nil, err
	}
	p, err := render.BeginPlan(fsys, &before, opts.Kctrl)
	if err != nil {
		return nil, err
	}
	header, err := boilerplate(p)
	if err != nil {
		return nil, err
	}
	if err := (transition{p, &before, proj, opts.Force, opts.Base, opts.Kctrl}).apply(header, header); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before.Resources, proj.Resources) {
		return p, nil
	}
	p.Note(&diagnostic.Error{
		Message: "for API servers this is another API: objects that are stored under the old name stay there, with their CRD",
		Hint:    "apply them again under the new name before you delete the old CRD, or add a version and convert if only the version changes",
	})
	return p, nil
}

func checkServedIfOwn(proj *project.Project, r project.Resource) error {
	if !r.API {
		return nil
	}
	return render.CheckServed(proj, r)
}
