package scaffold

import (
	"fmt"
	"go/token"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// storageMarker says which version of a kind API servers store.
const storageMarker = "+kubebuilder:storageversion"

// markStored makes sure that one version of a kind says that it is stored: the new one if it is asked to be, and else the one that
// says so or that was there first.
func markStored(p *plan.Plan, proj *project.Project, r project.Resource, wanted bool) error {
	older, found := versionBefore(proj, r)
	if !found && !wanted {
		return nil
	}
	all := append([]project.Resource{r}, derefs(proj.Versions(r))...)
	all = slices.DeleteFunc(all, func(v project.Resource) bool { return !v.API })
	stored := r.Version
	if found {
		stored = older.Version
	}
	for _, v := range all {
		_, text, err := typeFile(p, proj, v)
		if err != nil {
			return err
		}
		if edit.HasMarker(text, "", v.Kind, storageMarker) {
			stored = v.Version
		}
	}
	if wanted {
		stored = r.Version
	}
	for _, v := range all {
		name, text, err := typeFile(p, proj, v)
		if err != nil {
			return err
		}
		change := edit.RemoveMarker
		if v.Version == stored && len(all) > 1 {
			change = edit.EnsureMarker
		}
		if text, err = change(text, name, v.Kind, storageMarker); err != nil {
			return err
		}
		if err := p.WriteFile(plan.File{Path: name, Content: text, Policy: plan.Edit}); err != nil {
			return err
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

// typeFile returns the file that declares the Go type of a kind, and what is in it.
func typeFile(p *plan.Plan, proj *project.Project, r project.Resource) (name string, text []byte, err error) {
	kind := templates.NewKind(kindNames(proj, r, ""))
	files, err := goFiles(p, kind.Folder)
	if err != nil {
		return "", nil, err
	}
	positions, _, err := declarations(p, files)
	if err != nil {
		return "", nil, err
	}
	at, found := positions[r.Kind]
	if !found {
		return "", nil, &diagnostic.Error{
			Message: fmt.Sprintf("%s is a version of the kind, but %s declares no %s", r, kind.Folder, r.Kind),
			Hint:    "bring back the type, or remove the version from " + project.File,
		}
	}
	text, err = p.Read(at.Filename)
	return at.Filename, text, err
}
