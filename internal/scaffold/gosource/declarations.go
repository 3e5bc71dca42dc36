package gosource

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
)

// CheckUndeclared rejects names that a package declares in a file other than except.
func CheckUndeclared(p *plan.Plan, folder, except string, names []string) error {
	files, err := GoFiles(p, folder)
	if err != nil {
		return err
	}
	declared, _, err := Declarations(p, files)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if pos, ok := declared[name]; ok && pos.Filename != except {
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
	folder := path.Dir(file)
	declared, all, err := Declarations(p, []string{file})
	if _, found := declared[name]; err != nil || found || !all {
		return err
	}
	files, err := GoFiles(p, folder)
	if err != nil {
		return err
	}
	declared, all, err = Declarations(p, files)
	if _, found := declared[name]; err != nil || found || !all {
		return err
	}
	return &UndeclaredError{folder, name}
}

// Declarations returns the positions of the package-level names in Go files. all is false if a file does not parse,
// which other checks report.
func Declarations(p *plan.Plan, files []string) (declared map[string]token.Position, all bool, err error) {
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
		for _, ident := range PackageNames(file) {
			declared[ident.Name] = set.Position(ident.Pos())
		}
	}
	return declared, all, nil
}

// GoFiles lists the Go files of a directory, on disk and planned, except tests.
func GoFiles(p *plan.Plan, folder string) ([]string, error) {
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
