package scaffold

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/versions"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// writeTypes plans the Go type of a kind: that of the version before it, as it is now, or the first one. A package that has
// the type already, because somebody wrote it by hand, keeps it.
func writeTypes(p *plan.Plan, proj *project.Project, r project.Resource, shaped shaped, force bool) error {
	kind := shaped.kind
	older, found := versionBefore(proj, r)
	if !found {
		return errors.Join(checkTypes(p, kind), render(p, templates.Types(), kind, force))
	}
	if err := render(p, templates.Version(), kind.VersionView, false); err != nil {
		return err
	}
	source, err := readTypes(p, templates.NewKind(kindNames(proj, older, "")).Folder)
	if err != nil {
		return err
	}
	declared, err := declaredIn(p, kind.Folder)
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

// versionBefore returns the version of the kind of r that the project has had longest, if it is not r itself.
func versionBefore(proj *project.Project, r project.Resource) (project.Resource, bool) {
	for _, other := range proj.Resources {
		if other.APIGroup() != r.APIGroup() || other.Kind != r.Kind || !other.API {
			continue
		}
		return other, other.Version != r.Version
	}
	return project.Resource{}, false
}

// readTypes reads the Go types of an API package, without what is generated and what every such package has of its own.
func readTypes(p *plan.Plan, folder string) (*versions.Package, error) {
	names, err := goFiles(p, folder)
	if err != nil {
		return nil, err
	}
	var files []versions.File
	for _, name := range names {
		source, err := p.Read(name)
		switch {
		case strings.HasPrefix(path.Base(name), "zz_generated."), errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		}
		files = append(files, versions.File{Path: name, Source: source})
	}
	return versions.Parse(files)
}

// declaredIn returns the names that a package declares.
func declaredIn(p *plan.Plan, folder string) (map[string]bool, error) {
	files, err := goFiles(p, folder)
	if err != nil {
		return nil, err
	}
	positions, _, err := declarations(p, files)
	if err != nil {
		return nil, err
	}
	declared := map[string]bool{}
	for name := range maps.Keys(positions) {
		declared[name] = true
	}
	return declared, nil
}

// writeSample plans an object of a kind: as the sample of the version before it is now, or the first one.
func writeSample(p *plan.Plan, proj *project.Project, r project.Resource, shaped shaped, force bool) error {
	kind := shaped.kind
	older, found := versionBefore(proj, r)
	if !found {
		return render(p, templates.Sample(), kind, force)
	}
	from := templates.NewKind(kindNames(proj, older, ""))
	name, target := path.Join(samplesFolder, from.SampleFile), path.Join(samplesFolder, kind.SampleFile)
	text, err := p.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the types may be any by now, and nobody knows an object of them
	}
	if err != nil {
		return err
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
	policy := plan.Guarded
	if force {
		policy = policy.Forced()
	}
	return p.WriteFile(plan.File{Path: target, Content: text, Template: templates.Sample().Source(), Policy: policy})
}

func derefs(list []*project.Resource) []project.Resource {
	var all []project.Resource
	for _, r := range list {
		all = append(all, *r)
	}
	return all
}
