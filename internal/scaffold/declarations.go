package scaffold

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/templates"
)

// checkTypes refuses a kind whose Go types the API package has already, in any file but that of the kind itself.
func checkTypes(p *plan.Plan, kind templates.KindView) error {
	names := []string{kind.Kind, kind.Kind + "Spec", kind.Kind + "Status", kind.Kind + "List"}
	return checkUndeclared(p, kind.Folder, kind.TypesFile(), names)
}

// checkReconciler refuses a controller whose Go type the package of the controllers has already.
func checkReconciler(p *plan.Plan, kind templates.KindView) error {
	return checkUndeclared(p, kind.ControllerFolder, kind.ControllerFile(".go"), []string{kind.Reconciler})
}

// checkUndeclared refuses names that a package declares outside of one file.
func checkUndeclared(p *plan.Plan, folder, except string, names []string) error {
	files, err := goFiles(p, folder)
	if err != nil {
		return err
	}
	declared, _, err := declarations(p, files)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if pos, ok := declared[name]; ok && pos.Filename != except {
			errs = append(errs, &diagnostic.Error{
				Pos:     pos,
				Message: fmt.Sprintf("%s is declared here, and the new kind would declare it again", name),
				Hint:    "give the kind another name, or rename this",
			})
		}
	}
	return errors.Join(errs...)
}

// promise is what PROJECT says that a Go file declares.
type promise struct {
	listed            bool
	field, value      string // of PROJECT
	without           string // the value without it
	file, declaration string
}

// checkDeclared refuses a project with a kind or a controller that no Go file declares, so that its registration would
// not compile.
func checkDeclared(p *plan.Plan, proj *project.Project) error {
	var errs []error
	for _, o := range owners(proj, "") {
		for _, made := range features() {
			for _, c := range made.promises(o) {
				if c.listed {
					errs = append(errs, c.check(p, o))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// check refuses a promise that is not kept.
func (c promise) check(p *plan.Plan, o owner) error {
	err := checkDeclares(p, c.file, c.declaration)
	missing, ok := errors.AsType[*undeclaredError](err)
	if !ok {
		return err
	}
	return &diagnostic.Error{
		Pos:     o.project.Position(o.at, c.field),
		Message: fmt.Sprintf("%s is listed with %s: %s, but %s", o, c.field, c.value, missing),
		Hint:    fmt.Sprintf("bring back %s, or write %s: %s", c.declaration, c.field, c.without),
	}
}

// undeclaredError says that a package does not declare a name.
type undeclaredError struct{ folder, name string }

// Error names both.
func (e *undeclaredError) Error() string { return e.folder + " declares no " + e.name }

// checkDeclares returns an *undeclaredError for a name that no file of a package declares. The file where it is most likely is
// looked at first.
func checkDeclares(p *plan.Plan, file, name string) error {
	folder := path.Dir(file)
	declared, all, err := declarations(p, []string{file})
	if _, found := declared[name]; err != nil || found || !all {
		return err
	}
	files, err := goFiles(p, folder)
	if err != nil {
		return err
	}
	declared, all, err = declarations(p, files)
	if _, found := declared[name]; err != nil || found || !all {
		return err
	}
	return &undeclaredError{folder, name}
}

// declarations returns where Go files declare names of their package, and reports whether all of them could be read: one
// that does not parse is left to others to complain of.
func declarations(p *plan.Plan, files []string) (declared map[string]token.Position, all bool, err error) {
	declared, all = map[string]token.Position{}, true
	for _, name := range files {
		source, err := p.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
		if err != nil {
			all = false
			continue
		}
		for _, ident := range packageNames(file) {
			declared[ident.Name] = set.Position(ident.Pos())
		}
	}
	return declared, all, nil
}

// goFiles lists the Go files of a folder, without tests: those on disk and those that are planned.
func goFiles(p *plan.Plan, folder string) ([]string, error) {
	files, err := fs.Glob(p.FS(), path.Join(folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	for c := range p.Files() {
		if path.Dir(c.Path) == folder && path.Ext(c.Path) == ".go" {
			files = append(files, c.Path)
		}
	}
	slices.Sort(files)
	files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	return slices.Compact(files), nil
}

// packageNames returns the names that a file declares in its package, without methods.
func packageNames(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name)
				case *ast.ValueSpec:
					names = append(names, spec.Names...)
				}
			}
		}
	}
	return names
}
