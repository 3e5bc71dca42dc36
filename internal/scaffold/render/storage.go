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

// StorageMarker marks the version of a kind in which API servers store objects.
const StorageMarker = "+kubebuilder:storageversion"

// MarkStored marks one version of a kind as the storage version: the new version if wanted is set, else the version
// that already has the marker, or the oldest version.
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

// TypeFile returns the name and content of the file that declares the Go type of a kind.
func TypeFile(p *plan.Plan, proj *project.Project, r project.Resource) (name string, text []byte, err error) {
	kind := templates.NewKind(layout.KindNames(proj, r, ""))
	positions, _, err := gosource.Declarations(p, kind.Folder)
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
