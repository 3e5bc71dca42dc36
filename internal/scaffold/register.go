package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	gopath "path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// registerName is the name of the generated registrations: that of all kinds beside the main function, and that of an API package.
const registerName = "zz_generated.register.go"

// PlanRegistration plans the generated Go files that make the kinds and controllers of the project known to its manager,
// and checks that its program uses them. A project without kinds that has no such files, and asks for none, is left without. Errors
// are *diagnostic.Error.
func PlanRegistration(p *plan.Plan, proj *project.Project) error {
	if len(proj.Resources) == 0 {
		g, err := findProgram(p)
		if err != nil {
			return err
		}
		if _, err := p.Read(g.registerFile()); errors.Is(err, fs.ErrNotExist) && !g.usesRegister() {
			return nil
		}
	}
	return writeRegistration(p, proj)
}

func writeRegistration(p *plan.Plan, proj *project.Project) error {
	header, err := goHeader(p)
	if err != nil {
		return err
	}
	g, err := findProgram(p)
	if err != nil {
		return err
	}
	if err := checkDeclared(p, proj); err != nil {
		return err
	}
	versions, others, err := registrations(p, proj, header, g)
	if err != nil {
		return err
	}
	view, err := registerView(g, proj, header, others)
	if err != nil {
		return err
	}
	isKnown, err := g.isKnown(p)
	if err != nil {
		return err
	}
	if err := render(p, templates.Register(), view, true); err != nil {
		return err
	}
	for _, view := range versions {
		if err := render(p, templates.VersionRegister(), view, true); err != nil {
			return err
		}
	}
	return errors.Join(g.ensureRegistered(p), g.follow(p, isKnown))
}

func missingFile(name string, err error, hint string) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := diagnostic.AtFile(name, "cannot read", err)
	e.Message, e.Hint = "the file is missing", hint
	return e
}

// kindNames are the names that the templates of a resource are spelled from.
func kindNames(proj *project.Project, r project.Resource, header string) templates.KindNames {
	names := templates.KindNames{
		ProjectName: proj.Name,
		Repo:        proj.Repo,
		Header:      header,
		MultiGroup:  proj.MultiGroup,
		Group:       r.Group,
		Domain:      r.Domain,
		Version:     r.Version,
		Kind:        r.Kind,
		Plural:      r.Plural,
		Namespaced:  r.Namespaced,
		Path:        r.Path,
	}
	if r.Path == "" {
		names.APIFolder, _ = migratedFolder(proj, r)
	}
	if proj.Namespaced {
		names.RestrictedTo = templates.Namespace(proj.Name)
	}
	return names
}

// migratedFolder returns the folder of a version that the project has by kinds which PROJECT lists with their path: those of a project
// that was migrated.
func migratedFolder(proj *project.Project, r project.Resource) (folder string, found bool) {
	for _, other := range proj.Resources {
		if other.Path != "" && other.APIGroup() == r.APIGroup() && other.Version == r.Version {
			return folderOf(proj.Repo, other.Path)
		}
	}
	return "", false
}

// schemePackage has the builders of schemes.
const schemePackage = "k8s.io/apimachinery/pkg/runtime"

// joinScheme plans that an API package which has a builder of its own gives it what kctrl registers.
func joinScheme(p *plan.Plan, folder string) error {
	pkg, err := readPackage(p, folder)
	if err != nil || pkg.used[registerFunc] || !pkg.declared["AddToScheme"] || !pkg.declared["GroupVersion"] {
		return err
	}
	return editBuilder(p, folder, func(text []byte, name string) []byte {
		edited, err := edit.EnsureArgument(text, name, schemePackage, "NewSchemeBuilder", registerFunc)
		if err != nil {
			return text // which registrations says
		}
		return edited
	})
}

// leaveSchemes takes back what joinScheme has done to packages that have no kinds of kctrl's any more, and register all others themselves.
func leaveSchemes(p *plan.Plan, before, after *project.Project) error {
	for _, r := range before.Resources {
		folder, migrated := migratedFolder(before, r)
		stays := slices.ContainsFunc(after.Resources, func(o project.Resource) bool {
			return o.API && o.APIGroup() == r.APIGroup() && o.Version == r.Version
		})
		if !r.API || !migrated || stays {
			continue
		}
		pkg, err := readPackage(p, folder)
		if err != nil {
			return err
		}
		for root := range pkg.roots {
			migrated = migrated && pkg.made[root]
		}
		if !migrated {
			continue
		}
		err = editBuilder(p, folder, func(text []byte, name string) []byte {
			return edit.RemoveArgument(text, name, schemePackage, "NewSchemeBuilder", registerFunc)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// editBuilder plans what becomes of the file of an API package that has the builder of its scheme.
func editBuilder(p *plan.Plan, folder string, change func(text []byte, name string) []byte) error {
	files, err := goFiles(p, folder)
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := p.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if edited := change(text, name); !bytes.Equal(edited, text) {
			return p.WriteFile(plan.File{Path: name, Content: edited, Policy: plan.Edit})
		}
	}
	return nil
}

// registrations returns the API packages whose registration kctrl writes, ordered by folder, and the import paths of
// those that PROJECT does not list and that register their kinds. Kinds that come into no scheme are noted in the plan.
func registrations(p *plan.Plan, proj *project.Project, header string, g program) (versions []templates.VersionView, others []string, err error) {
	views := map[string]templates.VersionView{}
	listed := map[string][]string{}
	for _, r := range proj.Resources {
		if r.API {
			view := templates.NewKind(kindNames(proj, r, header)).VersionView
			views[view.Folder] = view
			listed[view.Folder] = append(listed[view.Folder], r.Kind)
		}
	}
	folders, err := apiFolders(p, proj)
	if err != nil {
		return nil, nil, err
	}
	for _, folder := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(folders, maps.Keys(views))))) {
		view, known := views[folder]
		if known {
			err = render(p, templates.Version(), view, false)
		}
		pkg, readErr := readPackage(p, folder)
		if err := errors.Join(err, readErr); err != nil {
			return nil, nil, err
		}
		if view.Objects = pkg.objects(listed[folder]); len(view.Objects) == 0 || pkg.name == "main" {
			continue
		}
		if !known {
			view.Header, view.Package, view.Folder = header, pkg.name, folder
		}
		generated := known || pkg.generatesRegistration()
		if generated {
			versions = append(versions, view)
		}
		p.Note(pkg.unregistered(g.folder, generated)...)
		if !known && pkg.declared["AddToScheme"] && pkg.importable(g.folder) {
			others = append(others, gopath.Join(proj.Repo, folder))
		}
	}
	return versions, others, nil
}

// registration collects what the manager sets up.
type registration struct {
	view    templates.RegisterView
	imports importNames
	makers  makers
	errs    []error
}

// registerView lists what the manager sets up: each API package, controller and webhook once, in the order of PROJECT, and
// behind the packages those that PROJECT does not list.
func registerView(g program, proj *project.Project, header string, others []string) (templates.RegisterView, error) {
	r := &registration{
		view:    templates.RegisterView{Header: header, Folder: g.folder},
		imports: importNames{byPath: map[string]string{}}, makers: g.makers(),
	}
	for _, o := range owners(proj, header) {
		for _, made := range features() {
			made.setUp(r, o)
		}
	}
	for _, path := range others {
		r.addAPI(path, templates.Alias(path)) // unless PROJECT has kinds of it with their path
	}
	r.view.Imports = r.imports.sorted()
	return r.view, errors.Join(r.errs...)
}

// name returns the name that the file imports a package under.
func (r *registration) name(importPath, wanted string) string {
	name, _ := r.imports.name(importPath, wanted)
	return name
}

// addAPI adds an API package, once.
func (r *registration) addAPI(importPath, wanted string) {
	if name, first := r.imports.name(importPath, wanted); first {
		r.view.APIs = append(r.view.APIs, name)
	}
}

// setUp adds a type of a package that the manager runs.
func (r *registration) setUp(importPath, wanted, name string) {
	expr, fallible, err := r.makers.setup(importPath, name, func() string { return r.name(importPath, wanted) })
	r.view.Setups = append(r.view.Setups, expr)
	r.view.Fallible = r.view.Fallible || fallible
	r.errs = append(r.errs, err)
}

// usesTypes reports whether code of the project uses the Go types of a kind: API servers decide by a policy without them.
func usesTypes(r project.Resource) bool {
	return r.Controller || len(r.Controllers)+len(webhooksOf(r)) > 0
}

// importNames gives every import path a name of its own, whatever names the paths would like.
type importNames struct {
	byPath map[string]string
}

// name returns the name of an import path, and reports whether it is the first time.
func (i *importNames) name(path, wanted string) (string, bool) {
	if name, ok := i.byPath[path]; ok {
		return name, false
	}
	name := wanted
	for n := 2; slices.Contains(slices.Collect(maps.Values(i.byPath)), name); n++ {
		name = fmt.Sprintf("%sx%d", wanted, n)
	}
	i.byPath[path] = name
	return name, true
}

func (i *importNames) sorted() []templates.Import {
	var list []templates.Import
	for _, path := range slices.Sorted(maps.Keys(i.byPath)) {
		alias := i.byPath[path]
		if alias == gopath.Base(path) {
			alias = "" // the package's own name
		}
		list = append(list, templates.Import{Alias: alias, Path: path})
	}
	return list
}
