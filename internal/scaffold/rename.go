package scaffold

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/internal/scaffold/sync"
)

// RenameOptions are the options of the PlanRename functions.
type RenameOptions struct {
	// Group, Version and Kind select what to rename. Group and Kind select a kind in all its versions. Group and Version
	// select a version with all its kinds. Group alone selects a group.
	Group, Version, Kind string
	// To is the new name.
	To string
	// Plural is the new plural of a kind; empty means the English plural.
	Plural string
	// Force writes conflicts with the user's edits between git's conflict markers.
	Force bool
	// Base returns former contents of files, from which later upgrades merge. It may be nil.
	Base sync.History
	// Kctrl identifies the running kctrl.
	Kctrl project.Build
}

// PlanRenameKind plans a new name for a kind: its types, its files, names derived from it, and references to it.
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

// PlanRenameVersion plans a new name for a version of a group, with all its kinds.
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

// PlanRenameGroup plans a new name for a group, with all its kinds.
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

// needsNames rejects options without the old or the new name.
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
		"kind": "--group webapp --kind Guestbook --to Visitor", "version": "--group webapp --version v1alpha1 --to v1beta1",
		"group": "--group webapp --to web",
	}
	return diagnostic.Usage(fmt.Sprintf("rename %s needs %s", what, missing),
		fmt.Sprintf("kctrl rename %s %s", what, example[what]))
}

// planRename plans the changes that follow from renaming kinds. rename changes a kind, and reports whether it changed
// it.
func planRename(fsys fs.FS, proj *project.Project, opts RenameOptions,
	rename func(*project.Resource) bool) (*plan.Plan, error) {
	before := proj.Clone()
	found := false
	after := slices.Clone(proj.Resources)
	for i := range after {
		if after[i].Path == "" && rename(&after[i]) {
			found = true
		}
	}
	if !found {
		return nil, noSuchKind(proj, project.Resource{Group: opts.Group, Domain: proj.Domain, Version: opts.Version,
			Kind: cmp.Or(opts.Kind, "*")})
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
	p, err := render.BeginPlan(fsys, before, opts.Kctrl)
	if err != nil {
		return nil, err
	}
	header, err := p.ReadIfExists(layout.BoilerplateFile)
	if err != nil {
		return nil, err
	}
	if err := (transition{p, before, proj, opts.Force, opts.Base, opts.Kctrl}).apply(header, header); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before.Resources, proj.Resources) {
		return p, nil
	}
	p.Note(&diagnostic.Error{
		Message: "for API servers this is another API: objects that are stored under the old name stay there, with their CRD",
		Hint: "apply them again under the new name before you delete the old CRD, or add a version and convert if only " +
			"the version changes",
	})
	return p, nil
}

func checkServedIfOwn(proj *project.Project, r project.Resource) error {
	if !r.API {
		return nil
	}
	return render.CheckServed(proj, r)
}
