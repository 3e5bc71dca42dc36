package load

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"path/filepath"
	"strconv"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"

	ourmarkers "github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// generatedFile is the name of the Go code that generators write.
const generatedFile = "zz_generated.deepcopy.go"

// parserMode is for files of the project; nobody here asks for resolved identifiers.
const parserMode = parser.ParseComments | parser.SkipObjectResolution

// Package is one package of the project: its syntax and its markers, without types.
type Package struct {
	// Package has the syntax, in the order of the file names. Only what needs no types may be asked of it:
	// [Program.Types] has packages for the rest.
	*loader.Package
	module source.Module
	files  []string // absolute, as Syntax
	broken []string // generated files that do not parse, absolute
	values map[ast.Node]markers.MarkerValues

	// Markers are those of all files, whether they describe something or not.
	Markers []ourmarkers.Marker
	// Arguments are what the arguments of markers have wrong with them, as controller-tools finds it; nil if they are right.
	Arguments error
}

// Has reports whether any of the named markers stands anywhere in the package.
func (p *Package) Has(names ...string) bool {
	for _, values := range p.values {
		for _, name := range names {
			if _, ok := values[name]; ok {
				return true
			}
		}
	}
	return false
}

// parsePackage reads the package in a folder. It returns no package if a file is broken, or if the folder holds only
// files that use cgo.
func parsePackage(root string, t *source.Tree, fset *token.FileSet, f source.Folder) (*Package, []error) {
	pkg := &Package{module: f.Module}
	var syntax []*ast.File
	var errs []error
	for _, name := range f.Files {
		name = filepath.Join(f.Dir, name)
		content, err := t.ReadFile(name)
		if err != nil {
			errs = append(errs, diagnostic.Unreadable(root, name, err))
			continue
		}
		file, err := parseFile(fset, name, content)
		if err != nil && filepath.Base(name) == generatedFile {
			// A merge conflict, perhaps. What is generated does not depend on it, and replaces it.
			pkg.broken = append(pkg.broken, name)
			continue
		}
		if err != nil {
			errs = append(errs, syntaxError(root, name, err))
			continue
		}
		if importsC(file) {
			continue
		}
		syntax = append(syntax, file)
		pkg.files = append(pkg.files, name)
	}
	if len(errs) > 0 || len(syntax) == 0 {
		return nil, errs
	}
	pkg.Package = &loader.Package{Package: &packages.Package{
		ID:              f.ImportPath(),
		PkgPath:         f.ImportPath(),
		Name:            syntax[0].Name.Name,
		GoFiles:         pkg.files,
		CompiledGoFiles: pkg.files,
		Fset:            fset,
		Syntax:          syntax,
	}}
	return pkg, nil
}

// importsC reports whether a file uses cgo. No API type can come from one.
func importsC(file *ast.File) bool {
	for _, spec := range file.Imports {
		if imported, _ := strconv.Unquote(spec.Path.Value); imported == "C" {
			return true
		}
	}
	return false
}

// syntaxError says where a file is broken first; what the parser finds after that is mostly noise.
func syntaxError(root, name string, err error) error {
	list, ok := err.(scanner.ErrorList)
	if !ok || len(list) == 0 {
		return diagnostic.Unreadable(root, name, err)
	}
	return &diagnostic.Error{
		Pos:     diagnostic.Relative(root, list[0].Pos),
		Message: diagnostic.OneLine(list[0].Msg),
		Hint:    "markers are read from files that parse: mend the syntax first",
		Cause:   err,
	}
}

// FileAt returns the file of the package that a position is in, or nil.
func (p *Package) FileAt(pos token.Pos) *ast.File {
	for _, file := range p.Syntax {
		if file.FileStart <= pos && pos < file.FileEnd {
			return file
		}
	}
	return nil
}
