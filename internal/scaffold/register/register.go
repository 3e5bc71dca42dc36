package register

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/gosource"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// schemePackage is the package of scheme builders.
const schemePackage = "k8s.io/apimachinery/pkg/runtime"

// JoinScheme plans that an API package with its own scheme builder passes kctrl's registration function to the builder.
func JoinScheme(p *plan.Plan, folder string) error {
	pkg, err := gosource.ReadPackage(p, folder)
	if err != nil || pkg.Used[gosource.RegisterFunc] || !pkg.Declared["AddToScheme"] || !pkg.Declared["GroupVersion"] {
		return err
	}
	return editBuilder(p, folder, func(text []byte, name string) []byte {
		edited, err := edit.EnsureArgument(text, name, schemePackage, "NewSchemeBuilder", gosource.RegisterFunc)
		if err != nil {
			return text // Registrations reports the missing call
		}
		return edited
	})
}

// LeaveSchemes reverts [JoinScheme] in packages that no longer have kinds in PROJECT and register all other kinds
// themselves.
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

// editBuilder plans a change to the file of the API package that has the scheme builder.
func editBuilder(p *plan.Plan, folder string, change func(text []byte, name string) []byte) error {
	files, err := gosource.ReadFiles(p, folder)
	for _, s := range files {
		if edited := change(s.Text, s.Name); !bytes.Equal(edited, s.Text) {
			return p.Edit(s.Name, edited)
		}
	}
	return err
}

// Registrations returns two lists, each ordered by directory. The first has the API packages whose registration kctrl
// writes. The second has the import paths of packages that register their kinds themselves and that PROJECT does not
// list. The plan gets notes about kinds that no scheme has.
func Registrations(p *plan.Plan, proj *project.Project, header string,
	g Program) (versions []templates.VersionView, others []string, err error) {
	views := map[string]templates.VersionView{}
	listed := map[string][]string{}
	for _, r := range proj.Resources {
		if r.API {
			view := layout.KindView(proj, r, header).VersionView
			views[view.Folder] = view
			listed[view.Folder] = append(listed[view.Folder], r.Kind)
		}
	}
	folders, err := gosource.APIDirs(p, proj)
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
			others = append(others, path.Join(proj.Repo, folder))
		}
	}
	return versions, others, nil
}

// Registration collects the setup calls of the manager.
type Registration struct {
	view    templates.RegisterView
	imports map[string]string // local names, by import path
	makers  makers
	errs    []error
}

// NewRegistration returns an empty registration for a program.
func NewRegistration(g Program, header string) *Registration {
	return &Registration{
		view:    templates.RegisterView{Header: header, Folder: g.folder},
		imports: map[string]string{}, makers: g.makers(),
	}
}

// Result returns the values for the registration file.
func (r *Registration) Result() (templates.RegisterView, error) {
	for _, importPath := range slices.Sorted(maps.Keys(r.imports)) {
		alias := r.imports[importPath]
		if alias == path.Base(importPath) {
			alias = "" // the import uses the package's own name
		}
		r.view.Imports = append(r.view.Imports, templates.Import{Alias: alias, Path: importPath})
	}
	return r.view, errors.Join(r.errs...)
}

// Name returns the local name of an import in the registration file.
func (r *Registration) Name(importPath, wanted string) string {
	if name, known := r.imports[importPath]; known {
		return name
	}
	name := wanted
	for n := 2; slices.Contains(slices.Collect(maps.Values(r.imports)), name); n++ {
		name = fmt.Sprintf("%sx%d", wanted, n)
	}
	r.imports[importPath] = name
	return name
}

// AddAPI adds an API package. It adds the same package only once.
func (r *Registration) AddAPI(importPath, wanted string) {
	if _, known := r.imports[importPath]; !known {
		r.view.APIs = append(r.view.APIs, r.Name(importPath, wanted))
	}
}

// Run adds an expression that sets up a part of the operator.
func (r *Registration) Run(setup string) { r.view.Setups = append(r.view.Setups, setup) }

// SetUp adds the setup of a type, such as a reconciler.
func (r *Registration) SetUp(importPath, wanted, name string) {
	expr, fallible, err := r.makers.setup(importPath, name, func() string { return r.Name(importPath, wanted) })
	r.view.Setups = append(r.view.Setups, expr)
	r.view.Fallible = r.view.Fallible || fallible
	r.errs = append(r.errs, err)
}
