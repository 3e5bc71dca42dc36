package gosource

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// CheckUndeclared rejects names that a package declares in a file other than except.
func CheckUndeclared(p *plan.Plan, folder, except string, names []string) error {
	declared, _, err := Declarations(p, folder, except)
	errs := []error{err}
	for _, name := range names {
		if pos, found := declared[name]; found {
			errs = append(errs, diagnostic.At(pos,
				fmt.Sprintf("%s is declared here, and the new kind would declare it again", name),
				"give the kind another name, or rename this"))
		}
	}
	return errors.Join(errs...)
}

// UndeclaredError reports that a package does not declare a name.
type UndeclaredError struct{ folder, name string }

func (e *UndeclaredError) Error() string { return e.folder + " declares no " + e.name }

// CheckDeclares returns an [*UndeclaredError] if no file of a package declares a name. It reads the most likely file
// first.
func CheckDeclares(p *plan.Plan, file, name string) error {
	text, err := p.ReadIfExists(file)
	if err != nil {
		return err
	}
	if s, ok := ParseSource(file, text); text != nil && (!ok || slices.Contains(s.Declares(), GoName{s.Pkg(), name})) {
		return nil
	}
	folder := path.Dir(file)
	declared, all, err := Declarations(p, folder)
	if _, found := declared[name]; err != nil || found || !all {
		return err
	}
	return &UndeclaredError{folder, name}
}

// Declarations returns the positions of the package-level names that a package declares in files other than except. all
// is false if one of these files does not parse, which other checks report.
func Declarations(p *plan.Plan, folder string, except ...string) (declared map[string]token.Position, all bool,
	err error) {
	sources, err := ReadFiles(p, folder)
	declared, all = map[string]token.Position{}, true
	for _, s := range sources {
		switch {
		case slices.Contains(except, s.Name):
		case s.File == nil:
			all = false
		default:
			for _, ident := range PackageNames(s.File) {
				declared[ident.Name] = s.Set.Position(ident.Pos())
			}
		}
	}
	return declared, all, err
}

// Names returns the package-level names that a package declares in files other than except.
func Names(p *plan.Plan, folder string, except ...string) (map[string]bool, error) {
	declared, _, err := Declarations(p, folder, except...)
	names := map[string]bool{}
	for name := range declared {
		names[name] = true
	}
	return names, err
}

// PackageNames returns the package-level names that a file declares, without methods.
func PackageNames(file *ast.File) []*ast.Ident {
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
