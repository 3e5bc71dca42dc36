package render

import (
	"errors"
	"path"
	"strings"

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
func writeTypes(p *plan.Plan, proj *project.Project, r project.Resource, shaped shaped, force bool) error {
	kind := shaped.kind
	older, found := layout.VersionBefore(proj, r)
	if !found {
		return errors.Join(checkTypes(p, kind), templated.Render(p, templates.Types(), kind, force))
	}
	if err := templated.Render(p, templates.Version(), kind.VersionView, false); err != nil {
		return err
	}
	source, err := readTypes(p, templates.NewKind(layout.KindNames(proj, older, "")).Folder)
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
		if declares(f.Source, kind.Kind+"Spec") {
			if f.Source, err = shaped.extendTypes(f.Path, f.Source); err != nil {
				return err
			}
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
func writeSample(p *plan.Plan, proj *project.Project, r project.Resource, shaped shaped, force bool) error {
	kind := shaped.kind
	older, found := layout.VersionBefore(proj, r)
	if !found {
		return templated.Render(p, templates.Sample(), kind, force)
	}
	from := templates.NewKind(layout.KindNames(proj, older, ""))
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
	if text, err = shaped.extendSample(target, text); err != nil {
		return err
	}
	return p.WriteFile(plan.File{
		Path: target, Content: text, Template: templates.Sample().Source(), Owner: templates.Sample().Owner, Force: force,
	})
}
