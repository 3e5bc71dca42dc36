package render

import (
	"fmt"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// StorageMarker says which version of a kind API servers store.
const StorageMarker = "+kubebuilder:storageversion"

// MarkStored makes sure that one version of a kind says that it is stored: the new one if it is asked to be, and else
// the one that says so or that was there first.
func MarkStored(p *plan.Plan, proj *project.Project, r project.Resource, wanted bool) error {
	older, found := layout.VersionBefore(proj, r)
	if !found && !wanted {
		return nil
	}
	all := append([]project.Resource{r}, layout.Derefs(proj.Versions(r))...)
	all = slices.DeleteFunc(all, func(v project.Resource) bool { return !v.API })
	stored := r.Version
	if found {
		stored = older.Version
	}
	for _, v := range all {
		_, text, err := TypeFile(p, proj, v)
		if err != nil {
			return err
		}
		if edit.HasMarker(text, "", v.Kind, StorageMarker) {
			stored = v.Version
		}
	}
	if wanted {
		stored = r.Version
	}
	for _, v := range all {
		name, text, err := TypeFile(p, proj, v)
		if err != nil {
			return err
		}
		change := edit.RemoveMarker
		if v.Version == stored && len(all) > 1 {
			change = edit.EnsureMarker
		}
		if text, err = change(text, name, v.Kind, StorageMarker); err != nil {
			return err
		}
		if err := p.Edit(name, text); err != nil {
			return err
		}
	}
	return nil
}

// TypeFile returns the file that declares the Go type of a kind, and what is in it.
func TypeFile(p *plan.Plan, proj *project.Project, r project.Resource) (name string, text []byte, err error) {
	kind := templates.NewKind(layout.KindNames(proj, r, ""))
	files, err := gosource.GoFiles(p, kind.Folder)
	if err != nil {
		return "", nil, err
	}
	positions, _, err := gosource.Declarations(p, files)
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
