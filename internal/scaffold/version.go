package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/versions"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// storageMarker says which version of a kind API servers store.
const storageMarker = "+kubebuilder:storageversion"

// writeTypes plans the Go type of a kind: that of the version before it, as it is now, or the first one. A package that has
// the type already, because somebody wrote it by hand, keeps it.
func writeTypes(p *plan.Plan, proj *project.Project, r project.Resource, shaped shaped, opts APIOptions) error {
	kind := shaped.kind
	older, found := versionBefore(proj, r)
	if !found {
		return errors.Join(checkTypes(p, kind), render(p, templates.Types(), kind, opts.Force))
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

func derefs(list []*project.Resource) []project.Resource {
	var all []project.Resource
	for _, r := range list {
		all = append(all, *r)
	}
	return all
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

// spokesOf returns the versions whose hub is r, in the order of the project.
func spokesOf(proj *project.Project, r project.Resource) []project.Resource {
	return slices.DeleteFunc(derefs(proj.Versions(r)), func(v project.Resource) bool { return v.Hub != r.Version })
}

// hubOf returns the version that the others of a kind are converted to: the one that it is for some of them, or else the newest,
// which has fields for most.
func hubOf(proj *project.Project, r project.Resource) string {
	newest := ""
	for _, v := range append(derefs(proj.Versions(r)), r) {
		if v.Hub != "" {
			return v.Hub
		}
		if v.API && (newest == "" || apiversion.CompareKubeAwareVersionStrings(v.Version, newest) > 0) {
			newest = v.Version
		}
	}
	return newest
}

// connect says of each of the given versions of a kind that it is converted to and from the hub, and returns those of which that
// is new.
func connect(proj *project.Project, r project.Resource, hub string, spokes []string) []project.Resource {
	var connected []project.Resource
	for i := range proj.Resources {
		v := &proj.Resources[i]
		if v.APIGroup() != r.APIGroup() || v.Kind != r.Kind || v.Version == hub || !slices.Contains(spokes, v.Version) || v.Hub != "" {
			continue
		}
		v.Hub = hub
		connected = append(connected, *v)
	}
	return connected
}

// writeConversions plans the functions that convert versions of a kind to and from their hub.
func writeConversions(p *plan.Plan, proj *project.Project, spokes []project.Resource, header string, force bool) error {
	for _, spoke := range spokes {
		hub, found := proj.Find(spoke.APIGroup(), spoke.Hub, spoke.Kind)
		if !found {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s has the hub %s, and there is no such version", spoke, spoke.Hub),
				Hint:    "kctrl create api --version " + spoke.Hub + " makes it",
			}
		}
		view, left, err := conversionView(p, proj, *hub, spoke, header)
		if err != nil {
			return err
		}
		if err := renderAll(p, templates.Conversion(), view, force); err != nil {
			return err
		}
		if left > 0 {
			p.Note(&diagnostic.Error{
				Message: fmt.Sprintf("%s says %d times what is left to write: %s and %s differ there", view.Spoke.ConversionFile(".go"), left, spoke.Version, hub.Version),
				Hint:    "the test beside it passes once nothing is lost",
			})
		}
	}
	return nil
}

// conversionView writes what converts one version to and from the hub, and counts what it could not.
func conversionView(p *plan.Plan, proj *project.Project, hub, spoke project.Resource, header string) (templates.ConversionView, int, error) {
	view := templates.NewConversion(header, templates.NewKind(kindNames(proj, spoke, header)), templates.NewKind(kindNames(proj, hub, header)))
	side := func(kind templates.KindView) (versions.Side, error) {
		pkg, err := readTypes(p, kind.Folder)
		return versions.Side{Package: pkg, Version: kind.Version, Alias: kind.Alias}, err
	}
	hubSide, err := side(view.Hub)
	spokeSide, failure := side(view.Spoke)
	taken, failed := takenIn(p, view.Spoke)
	if err := errors.Join(err, failure, failed); err != nil {
		return view, 0, err
	}
	functions := versions.Convert(spoke.Kind, view.Spoke.Variable, hubSide, spokeSide, taken)
	view.FromHubBody, view.ToHubBody, view.Helpers = functions.FromHub, functions.ToHub, functions.Helpers
	for _, name := range slices.SortedFunc(maps.Keys(functions.Imports), func(a, b string) int {
		return strings.Compare(functions.Imports[a], functions.Imports[b])
	}) {
		imported := templates.Import{Alias: name, Path: functions.Imports[name]}
		if name == path.Base(imported.Path) {
			imported.Alias = ""
		}
		view.Imports = append(view.Imports, imported)
	}
	return view, functions.Left, nil
}

// takenIn returns what the package of the conversions declares in other files.
func takenIn(p *plan.Plan, spoke templates.KindView) (map[string]bool, error) {
	files, err := goFiles(p, spoke.ConversionFolder)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(name string) bool { return name == spoke.ConversionFile(".go") })
	positions, _, err := declarations(p, files)
	taken := map[string]bool{}
	for name := range positions {
		taken[name] = true
	}
	return taken, err
}
