package register

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"

	gopath "path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// schemePackage has the builders of schemes.
const schemePackage = "k8s.io/apimachinery/pkg/runtime"

// JoinScheme plans that an API package which has a builder of its own gives it what kctrl registers.
func JoinScheme(p *plan.Plan, folder string) error {
	pkg, err := gosource.ReadPackage(p, folder)
	if err != nil || pkg.Used[gosource.RegisterFunc] || !pkg.Declared["AddToScheme"] || !pkg.Declared["GroupVersion"] {
		return err
	}
	return editBuilder(p, folder, func(text []byte, name string) []byte {
		edited, err := edit.EnsureArgument(text, name, schemePackage, "NewSchemeBuilder", gosource.RegisterFunc)
		if err != nil {
			return text // which registrations says
		}
		return edited
	})
}

// LeaveSchemes takes back what joinScheme has done to packages that have no kinds of kctrl's any more, and register
// all others themselves.
func LeaveSchemes(p *plan.Plan, before, after *project.Project) error {
	for _, r := range before.Resources {
		folder, migrated := layout.MigratedDir(before, r)
		stays := slices.ContainsFunc(after.Resources, func(o project.Resource) bool {
			return o.API && o.APIGroup() == r.APIGroup() && o.Version == r.Version
		})
		if !r.API || !migrated || stays {
			continue
		}
		pkg, err := gosource.ReadPackage(p, folder)
		if err != nil {
			return err
		}
		for root := range pkg.Roots {
			migrated = migrated && pkg.Made[root]
		}
		if !migrated {
			continue
		}
		err = editBuilder(p, folder, func(text []byte, name string) []byte {
			return edit.RemoveArgument(text, name, schemePackage, "NewSchemeBuilder", gosource.RegisterFunc)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// editBuilder plans what becomes of the file of an API package that has the builder of its scheme.
func editBuilder(p *plan.Plan, folder string, change func(text []byte, name string) []byte) error {
	files, err := gosource.GoFiles(p, folder)
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
			return p.Edit(name, edited)
		}
	}
	return nil
}

// Registrations returns the API packages whose registration kctrl writes, ordered by folder, and the import paths of
// those that PROJECT does not list and that register their kinds. Kinds that come into no scheme are noted in the plan.
func Registrations(p *plan.Plan, proj *project.Project, header string, g Program) (versions []templates.VersionView, others []string, err error) {
	views := map[string]templates.VersionView{}
	listed := map[string][]string{}
	for _, r := range proj.Resources {
		if r.API {
			view := templates.NewKind(layout.KindNames(proj, r, header)).VersionView
			views[view.Folder] = view
			listed[view.Folder] = append(listed[view.Folder], r.Kind)
		}
	}
	folders, err := gosource.ApiFolders(p, proj)
	if err != nil {
		return nil, nil, err
	}
	for _, folder := range slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(folders, maps.Keys(views))))) {
		view, known := views[folder]
		if known {
			err = templated.Render(p, templates.Version(), view, false)
		}
		pkg, readErr := gosource.ReadPackage(p, folder)
		if err := errors.Join(err, readErr); err != nil {
			return nil, nil, err
		}
		if view.Objects = pkg.Objects(listed[folder]); len(view.Objects) == 0 || pkg.Name == "main" {
			continue
		}
		if !known {
			view.Header, view.Package, view.Folder = header, pkg.Name, folder
		}
		generated := known || pkg.GeneratesRegistration()
		if generated {
			versions = append(versions, view)
		}
		p.Note(pkg.Unregistered(g.folder, generated)...)
		if !known && pkg.Declared["AddToScheme"] && pkg.Importable(g.folder) {
			others = append(others, gopath.Join(proj.Repo, folder))
		}
	}
	return versions, others, nil
}

// Registration collects what the manager sets up.
type Registration struct {
	view    templates.RegisterView
	imports importNames
	makers  makers
	errs    []error
}

// NewRegistration returns what sets up nothing yet in a program.
func NewRegistration(g Program, header string) *Registration {
	return &Registration{
		view:    templates.RegisterView{Header: header, Folder: g.folder},
		imports: importNames{byPath: map[string]string{}}, makers: g.makers(),
	}
}

// Result returns what the file says.
func (r *Registration) Result() (templates.RegisterView, error) {
	r.view.Imports = r.imports.sorted()
	return r.view, errors.Join(r.errs...)
}

// Name returns the name that the file imports a package under.
func (r *Registration) Name(importPath, wanted string) string {
	name, _ := r.imports.name(importPath, wanted)
	return name
}

// AddAPI adds an API package, once.
func (r *Registration) AddAPI(importPath, wanted string) {
	if name, first := r.imports.name(importPath, wanted); first {
		r.view.APIs = append(r.view.APIs, name)
	}
}

// Run adds an expression that sets something up.
func (r *Registration) Run(setup string) { r.view.Setups = append(r.view.Setups, setup) }

// SetUp adds a type of a package that the manager runs.
func (r *Registration) SetUp(importPath, wanted, name string) {
	expr, fallible, err := r.makers.setup(importPath, name, func() string { return r.Name(importPath, wanted) })
	r.view.Setups = append(r.view.Setups, expr)
	r.view.Fallible = r.view.Fallible || fallible
	r.errs = append(r.errs, err)
}

// importNames gives every import path a name of its own, whatever names the paths would like.
type importNames struct {
	byPath map[string]string
}

// Name returns the name of an import path, and reports whether it is the first time.
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
