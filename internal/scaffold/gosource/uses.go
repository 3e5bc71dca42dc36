package gosource

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// GoSource is a parsed Go file of a project.
type GoSource struct {
	Name string
	Set  *token.FileSet
	File *ast.File
}

// GoPackage identifies a package of a project by directory. External marks test packages with the suffix _test.
type GoPackage struct {
	Folder   string
	External bool
}

// GoName is a name that a package declares.
type GoName struct {
	Pkg  GoPackage
	Name string
}

// Use is a reference in a file to a name of the project.
type Use struct {
	GoName
	At token.Position
}

// GoSources parses, in sorted order, all Go files that the project's modules contain after the plan is applied,
// including tests. It skips generated files, the bundled runtime, and files that do not parse, which the go command
// reports.
func GoSources(p *plan.Plan, proj *project.Project) ([]GoSource, error) {
	modules, err := ApiModules(p, proj)
	if err != nil {
		return nil, err
	}
	names, err := GoFilesOf(p, func(folder string) bool { return IsForeign(p.FS(), folder, modules) })
	if err != nil {
		return nil, err
	}
	lock, _, err := p.Lock()
	if err != nil {
		return nil, err
	}
	var sources []GoSource
	for _, name := range names {
		text, err := p.Read(name)
		if entry, _ := lock.Entry(name); errors.Is(err, fs.ErrNotExist) || isGenerated(name, entry) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s, ok := ParseSource(name, text); ok {
			sources = append(sources, s)
		}
	}
	return sources, nil
}

// GoFilesOf returns the sorted paths of the Go files in the project's tree, including planned ones. It skips
// directories for which skip returns true.
func GoFilesOf(p *plan.Plan, skip func(folder string) bool) ([]string, error) {
	names := map[string]bool{}
	err := fs.WalkDir(p.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.IsDir() && skip(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && path.Ext(name) == ".go":
			names[name] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for c := range p.Files() {
		if path.Ext(c.Path) == ".go" && !strings.HasPrefix(c.Path, layout.BundleDir+"/") {
			names[c.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// isGenerated reports whether kctrl or another tool generates the file from other files.
func isGenerated(name string, entry project.LockEntry) bool {
	return strings.HasPrefix(path.Base(name), "zz_generated.") || strings.HasPrefix(entry.Template, "generate/")
}

func (s GoSource) Pkg() GoPackage {
	return GoPackage{path.Dir(s.Name), strings.HasSuffix(s.Name, "_test.go") &&
		strings.HasSuffix(s.File.Name.Name, "_test")}
}

// Declares returns the package-level names that a file declares.
func (s GoSource) Declares() []GoName {
	var names []GoName
	for _, ident := range PackageNames(s.File) {
		names = append(names, GoName{s.Pkg(), ident.Name})
	}
	return names
}

// imports returns the import paths of a file by their local names.
func (s GoSource) imports() map[string]string {
	byName := map[string]string{}
	for _, spec := range s.File.Imports {
		importPath := strings.Trim(spec.Path.Value, "\"`")
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = importPath
	}
	return byName
}

// DotImports returns the packages of module repo that a file imports with a dot.
func (s GoSource) DotImports(repo string) []GoPackage {
	var found []GoPackage
	for _, spec := range s.File.Imports {
		folder, inside := layout.DirOf(repo, strings.Trim(spec.Path.Value, "\"`"))
		if inside && spec.Name != nil && spec.Name.Name == "." {
			found = append(found, GoPackage{Folder: folder})
		}
	}
	return found
}

// Uses returns the references in a file to names of packages in module repo, with positions.
func (s GoSource) Uses(repo string) []Use {
	var found []Use
	for _, i := range s.Idents(repo) {
		found = append(found, Use{i.GoName, s.Set.Position(i.Node.Pos())})
	}
	return found
}

// NamedIdent is an identifier that refers to a package-level name.
type NamedIdent struct {
	GoName
	Node *ast.Ident
}

// Idents returns the identifiers that refer to names of packages in module repo. An identifier without a package
// qualifier may also refer to a local variable.
func (s GoSource) Idents(repo string) []NamedIdent {
	imports := s.imports()
	skipped := map[*ast.Ident]bool{s.File.Name: true}
	var found []NamedIdent
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			skipped[n.Sel] = true
			x, isName := n.X.(*ast.Ident)
			if !isName {
				break
			}
			if folder, inside := layout.DirOf(repo, imports[x.Name]); inside {
				skipped[x] = true
				found = append(found, NamedIdent{GoName{GoPackage{Folder: folder}, n.Sel.Name}, n.Sel})
			}
		case *ast.KeyValueExpr:
			if key, isName := n.Key.(*ast.Ident); isName {
				skipped[key] = true
			}
		case *ast.Field:
			for _, name := range n.Names {
				skipped[name] = true
			}
		case *ast.Ident:
			if !skipped[n] {
				found = append(found, NamedIdent{GoName{s.Pkg(), n.Name}, n})
			}
		}
		return true
	})
	return found
}

// Mentions reports whether a file uses a name in an import, a declaration or a reference.
func (s GoSource) Mentions(name string) bool {
	_, found := s.imports()[name]
	ast.Inspect(s.File, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		found = found || ok && ident != s.File.Name && ident.Name == name
		return !found
	})
	return found
}

// Locals returns the identifiers that refer to declarations inside functions, as far as the file alone shows. Such an
// identifier may have the same name as a package or a package-level declaration.
func (s GoSource) Locals() map[*ast.Ident]bool {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importsNothing{}, FakeImportC: true, Error: func(error) {}}
	// errors are expected: the file is checked without its package
	pkg, _ := config.Check(s.Name, s.Set, []*ast.File{s.File}, info)
	found := map[*ast.Ident]bool{}
	for _, objects := range []map[*ast.Ident]types.Object{info.Defs, info.Uses} {
		for ident, object := range objects {
			if object == nil {
				continue
			}
			_, isImport := object.(*types.PkgName)
			_, isLabel := object.(*types.Label)
			scope := object.Parent() // nil for a field or method
			found[ident] = isLabel || !isImport && scope != nil && scope != types.Universe && scope != pkg.Scope()
		}
	}
	return found
}

// importsNothing is an importer that finds no package, so the type checker knows packages only by name.
type importsNothing struct{}

func (importsNothing) Import(string) (*types.Package, error) { return nil, errNotOfModule }

// ImportedBy returns all import paths of the files, each with a file that imports it.
func ImportedBy(sources []GoSource) map[string]string {
	all := map[string]string{}
	for _, s := range sources {
		for _, spec := range s.File.Imports {
			all[strings.Trim(spec.Path.Value, "\"`")] = s.Name
		}
	}
	return all
}

// ParseSource parses a Go file, and reports whether it succeeded.
func ParseSource(name string, text []byte) (GoSource, bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return GoSource{name, set, file}, err == nil
}

func WebhookMarkers(text []byte) []string {
	var markers []string
	for line := range bytes.Lines(text) {
		if line := strings.TrimSpace(string(line)); strings.HasPrefix(line, "// +kubebuilder:webhook:") {
			markers = append(markers, line)
		}
	}
	return markers
}
