package render

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/scaffold/versions"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// writeTypes plans the Go type of a kind. It copies the current type of the oldest version, or renders the template if
// the kind is new. If the user already wrote the type in the package, it keeps the type.
func (r *Rendering) writeTypes(o Kind) error {
	p, kind := r.Plan, o.View
	older, found := layout.VersionBefore(r.project, o.Resource)
	if !found {
		return errors.Join(checkTypes(p, kind), templated.Render(p, templates.Types(), kind, r.force))
	}
	if err := templated.Render(p, templates.Version(), kind.VersionView, false); err != nil {
		return err
	}
	source, err := readTypes(p, layout.KindView(r.project, older, "").Folder)
	if err != nil {
		return err
	}
	declared, err := gosource.Names(p, kind.Folder)
	if err != nil || declared[kind.Kind] {
		return err
	}
	files, err := source.Copy(kind.Kind, kind.Folder, kind.Package, kind.Header, declared)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Source, err = o.extendTypes(f.Path, f.Source); err != nil {
			return err
		}
		if err := p.Write(f.Path, f.Source, templates.Types().Source()); err != nil {
			return err
		}
	}
	return nil
}

// readTypes reads the Go types of an API package, without generated files.
func readTypes(p *plan.Plan, folder string) (*versions.Package, error) {
	sources, err := gosource.ReadFiles(p, folder)
	if err != nil {
		return nil, err
	}
	var files []versions.File
	for _, s := range sources {
		if !strings.HasPrefix(path.Base(s.Name), "zz_generated.") {
			files = append(files, versions.File{Path: s.Name, Source: s.Text})
		}
	}
	return versions.Parse(files)
}

// writeSample plans a sample of a kind. It copies the current sample of the oldest version, or renders the template if
// the kind is new.
func (r *Rendering) writeSample(o Kind) error {
	p, kind := r.Plan, o.View
	older, found := layout.VersionBefore(r.project, o.Resource)
	if !found {
		return templated.Render(p, templates.Sample(), kind, r.force)
	}
	from := layout.KindView(r.project, older, "")
	name, target := path.Join(layout.SamplesDir, from.SampleFile), path.Join(layout.SamplesDir, kind.SampleFile)
	text, err := p.ReadIfExists(name)
	if err != nil || text == nil {
		return err // the user deleted it, and kctrl does not know valid values for edited types
	}
	for _, change := range []struct {
		keys       []string
		old, value string
	}{
		{[]string{"apiVersion"}, from.QualifiedGroup + "/" + from.Version, kind.QualifiedGroup + "/" + kind.Version},
		{[]string{"metadata", "name"}, from.SampleName, kind.SampleName + "-" + kind.Version},
	} {
		if text, err = edit.ReplaceScalar(text, name, change.keys, []string{change.old}, change.value); err != nil {
			return err
		}
	}
	if text, err = o.extendSample(target, text); err != nil {
		return err
	}
	return p.WriteFile(plan.File{
		Path: target, Content: text, Template: templates.Sample().Source(), Owner: templates.Sample().Owner, Force: r.force,
	})
}

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
	kind := layout.KindView(proj, r, "")
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
