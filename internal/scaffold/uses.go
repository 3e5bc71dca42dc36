package scaffold

import (
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
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

// goSource is a Go file of a project, parsed.
type goSource struct {
	name string
	set  *token.FileSet
	file *ast.File
}

// goPackage is a package of a project by its folder; tests that are a package of their own are marked.
type goPackage struct {
	folder   string
	external bool
}

// goName is a name that a package declares.
type goName struct {
	pkg  goPackage
	name string
}

// use is where a file says a name of the project.
type use struct {
	goName
	at token.Position
}

// goSources parses all Go files that the modules of a project have when the plan is applied, tests among them, in order. What was generated
// from others, the bundled runtime, and files that do not parse are left out: who runs the go command hears of these.
func goSources(p *plan.Plan, proj *project.Project) ([]goSource, error) {
	modules, err := apiModules(p, proj)
	if err != nil {
		return nil, err
	}
	names, err := goFilesOf(p, func(folder string) bool { return isForeign(p.FS(), folder, modules) })
	if err != nil {
		return nil, err
	}
	lock, _, err := p.Lock()
	if err != nil {
		return nil, err
	}
	var sources []goSource
	for _, name := range names {
		text, err := p.Read(name)
		if entry, _ := lock.Entry(name); errors.Is(err, fs.ErrNotExist) || isGenerated(name, entry) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s, ok := parseSource(name, text); ok {
			sources = append(sources, s)
		}
	}
	return sources, nil
}

// goFilesOf returns the paths of the Go files in the project's tree, planned ones included, in order, without those in folders
// that skip reports.
func goFilesOf(p *plan.Plan, skip func(folder string) bool) ([]string, error) {
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
		if path.Ext(c.Path) == ".go" && !strings.HasPrefix(c.Path, bundleFolder+"/") {
			names[c.Path] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// isGenerated reports whether a file follows from others, and is made anew with them.
func isGenerated(name string, entry project.LockEntry) bool {
	return strings.HasPrefix(path.Base(name), "zz_generated.") || strings.HasPrefix(entry.Template, "generate/")
}

func (s goSource) pkg() goPackage {
	return goPackage{path.Dir(s.name), strings.HasSuffix(s.name, "_test.go") && strings.HasSuffix(s.file.Name.Name, "_test")}
}

// declares returns the names that a file declares in its package.
func (s goSource) declares() []goName {
	var names []goName
	for _, ident := range packageNames(s.file) {
		names = append(names, goName{s.pkg(), ident.Name})
	}
	return names
}

// imports returns the import paths of a file by the names that it has for them.
func (s goSource) imports() map[string]string {
	byName := map[string]string{}
	for _, spec := range s.file.Imports {
		importPath := strings.Trim(spec.Path.Value, "\"`")
		name := path.Base(importPath)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		byName[name] = importPath
	}
	return byName
}

// dotImports returns the packages of the module repo whose names a file says without theirs.
func (s goSource) dotImports(repo string) []goPackage {
	var found []goPackage
	for _, spec := range s.file.Imports {
		folder, inside := folderOf(repo, strings.Trim(spec.Path.Value, "\"`"))
		if inside && spec.Name != nil && spec.Name.Name == "." {
			found = append(found, goPackage{folder: folder})
		}
	}
	return found
}

// uses returns the names of packages of the module repo that a file says, with where it does.
func (s goSource) uses(repo string) []use {
	var found []use
	for _, i := range s.idents(repo) {
		found = append(found, use{i.goName, s.set.Position(i.node.Pos())})
	}
	return found
}

// namedIdent is an identifier that stands for a name of a package.
type namedIdent struct {
	goName
	node *ast.Ident
}

// idents returns the identifiers that stand for names of packages of the module repo. One of the file's own package may also stand for
// something that a function declares.
func (s goSource) idents(repo string) []namedIdent {
	imports := s.imports()
	skipped := map[*ast.Ident]bool{s.file.Name: true}
	var found []namedIdent
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			skipped[n.Sel] = true
			x, isName := n.X.(*ast.Ident)
			if !isName {
				break
			}
			if folder, inside := folderOf(repo, imports[x.Name]); inside {
				skipped[x] = true
				found = append(found, namedIdent{goName{goPackage{folder: folder}, n.Sel.Name}, n.Sel})
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
				found = append(found, namedIdent{goName{s.pkg(), n.Name}, n})
			}
		}
		return true
	})
	return found
}

// says reports whether a file has a name for anything: what it imports, declares, or says of its package.
func (s goSource) says(name string) bool {
	_, found := s.imports()[name]
	ast.Inspect(s.file, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		found = found || ok && ident != s.file.Name && ident.Name == name
		return !found
	})
	return found
}

// locals returns the identifiers that stand for what a function declares, as far as the file alone tells: that may be called as a package, or
// as what one declares.
func (s goSource) locals() map[*ast.Ident]bool {
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: importsNothing{}, FakeImportC: true, Error: func(error) {}}
	pkg, _ := config.Check(s.name, s.set, []*ast.File{s.file}, info) // without its package a file has errors, which say nothing
	found := map[*ast.Ident]bool{}
	for _, objects := range []map[*ast.Ident]types.Object{info.Defs, info.Uses} {
		for ident, object := range objects {
			if object == nil {
				continue
			}
			_, isImport := object.(*types.PkgName)
			_, isLabel := object.(*types.Label)
			scope := object.Parent() // none: a field or a method
			found[ident] = isLabel || !isImport && scope != nil && scope != types.Universe && scope != pkg.Scope()
		}
	}
	return found
}

// importsNothing makes a type checker know all packages by their names alone.
type importsNothing struct{}

// Import returns no package.
func (importsNothing) Import(string) (*types.Package, error) { return nil, errNotOfModule }

// folderOf returns the folder of an import path in the module of a project.
func folderOf(repo, importPath string) (folder string, inside bool) {
	if importPath == repo {
		return ".", true
	}
	folder, inside = strings.CutPrefix(importPath, repo+"/")
	return folder, inside && !strings.HasPrefix(folder, bundleFolder+"/")
}

// importedBy returns all import paths of files, each with a file that has it.
func importedBy(sources []goSource) map[string]string {
	all := map[string]string{}
	for _, s := range sources {
		for _, spec := range s.file.Imports {
			all[strings.Trim(spec.Path.Value, "\"`")] = s.name
		}
	}
	return all
}

// parseSource parses a Go file, and reports whether it could.
func parseSource(name string, text []byte) (goSource, bool) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return goSource{name, set, file}, err == nil
}
