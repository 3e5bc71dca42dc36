package gosource

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"golang.org/x/mod/modfile"
)

// GoSource is a Go file of a project.
type GoSource struct {
	edit.GoFile
	// Packages has the names of packages of the project, by import path. The name can differ from the directory's.
	Packages map[string]string
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

// GoSources parses, in sorted order, all Go files that the project's modules contain after the plan is applied,
// including tests. It skips generated files, the bundled runtime, and files that do not parse, which the go command
// reports.
func GoSources(p *plan.Plan, proj *project.Project) ([]GoSource, error) {
	modules, err := ApiModules(p, proj)
	if err != nil {
		return nil, err
	}
	names, err := GoFilesOf(p, ".", func(folder string) bool { return IsForeign(p.FS(), folder, modules) })
	if err != nil {
		return nil, err
	}
	lock := p.Lock()
	names = slices.DeleteFunc(names, func(name string) bool {
		entry, _ := lock.Entry(name)
		return isGenerated(name, entry)
	})
	sources, err := readAll(p, names)
	return slices.DeleteFunc(sources, func(s GoSource) bool { return s.File == nil }), err
}

// ReadFiles returns the Go files of a package, on disk and planned, except tests, ordered by name.
func ReadFiles(p *plan.Plan, folder string) ([]GoSource, error) {
	names, err := packageFiles(p, folder)
	if err != nil {
		return nil, err
	}
	return readAll(p, names)
}

// packageFiles returns the paths of the Go files of a package, on disk and planned, except tests, sorted.
func packageFiles(p *plan.Plan, folder string) ([]string, error) {
	names, err := fs.Glob(p.FS(), path.Join(folder, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	for c := range p.Files() {
		if path.Dir(c.Path) == folder && path.Ext(c.Path) == ".go" {
			names = append(names, c.Path)
		}
	}
	slices.Sort(names)
	names = slices.DeleteFunc(names, func(name string) bool { return !IsPackageFile(name) })
	return slices.Compact(names), nil
}

// readAll parses those of the named files that exist.
func readAll(p *plan.Plan, names []string) ([]GoSource, error) {
	var sources []GoSource
	for _, name := range names {
		text, err := p.ReadIfExists(name)
		if err != nil {
			return nil, err
		}
		if text != nil {
			s, _ := ParseSource(name, text)
			sources = append(sources, s)
		}
	}
	return sources, namePackages(p, sources)
}

// namePackages sets the names of the project's packages that the sources import without a local name.
func namePackages(p *plan.Plan, sources []GoSource) error {
	module, err := p.ReadIfExists(layout.GoModFile)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for i, s := range sources {
		sources[i].Packages = names
		if s.File == nil {
			continue
		}
		for _, spec := range s.File.Imports {
			importPath := edit.ImportPath(spec)
			folder, inside := layout.DirOf(modfile.ModulePath(module), importPath)
			if _, known := names[importPath]; !inside || known || spec.Name != nil {
				continue
			}
			if names[importPath], err = packageName(p, folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// packageName returns the name of the package in a directory, or "" if the directory has none.
func packageName(p *plan.Plan, folder string) (string, error) {
	files, err := packageFiles(p, folder)
	if err != nil {
		return "", err
	}
	for _, name := range files {
		text, err := p.ReadIfExists(name)
		if err != nil {
			return "", err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.PackageClauseOnly)
		if err == nil && text != nil && file.Name.Name != "main" { // main has a build constraint
			return file.Name.Name, nil
		}
	}
	return "", nil
}

// GoFilesOf returns the sorted paths of the Go files below a directory that exist after the plan is applied. It skips
// directories on disk for which skip returns true, and planned files of the bundled runtime.
func GoFilesOf(p *plan.Plan, folder string, skip func(folder string) bool) ([]string, error) {
	exists := map[string]bool{}
	err := fs.WalkDir(p.FS(), folder, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == folder:
			return nil // planned
		case err != nil:
			return diagnostic.AtFile(name, "cannot read", err)
		case entry.IsDir() && name != folder && skip(name):
			return fs.SkipDir
		}
		exists[name] = entry.Type().IsRegular() && path.Ext(name) == ".go"
		return nil
	})
	if err != nil {
		return nil, err
	}
	for c := range p.Files() {
		if path.Ext(c.Path) == ".go" && (folder == "." || strings.HasPrefix(c.Path, folder+"/")) &&
			!strings.HasPrefix(c.Path, layout.BundleDir+"/") {
			exists[c.Path] = c.After != nil
		}
	}
	maps.DeleteFunc(exists, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(exists)), nil
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

// Imports returns the import paths of a file by their local names.
func (s GoSource) Imports() map[string]string {
	byName := map[string]string{}
	for _, spec := range s.File.Imports {
		importPath := edit.ImportPath(spec)
		name := cmp.Or(s.Packages[importPath], path.Base(importPath))
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
		folder, inside := layout.DirOf(repo, edit.ImportPath(spec))
		if inside && spec.Name != nil && spec.Name.Name == "." {
			found = append(found, GoPackage{Folder: folder})
		}
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
	imports := s.Imports()
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
	_, found := s.Imports()[name]
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

// ParseSource parses a Go file, and reports whether it succeeded.
func ParseSource(name string, text []byte) (GoSource, bool) {
	f, err := edit.ParseGo(name, text)
	return GoSource{GoFile: f}, err == nil
}

// IsBuilt reports whether the build constraints of a file include it in its package.
func (s GoSource) IsBuilt() bool {
	ctx := build.Default
	ctx.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(s.Text)), nil }
	match, err := ctx.MatchFile(path.Split(s.Name))
	return match || err != nil
}

// Qualified returns the import path and the name of an expression that refers to another package, separated by a dot.
// For other expressions it returns "".
func (s GoSource) Qualified(expr ast.Expr) string {
	selector, ok := ast.Unparen(expr).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := selector.X.(*ast.Ident)
	if !ok || s.Imports()[x.Name] == "" {
		return ""
	}
	return s.Imports()[x.Name] + "." + selector.Sel.Name
}

// UnservedWebhook returns the message about a webhook marker with a path that the manager does not serve.
func UnservedWebhook(path string) string {
	return "the webhook configuration has the path " + path + ", which the manager does not serve"
}

// WebhookPaths returns the paths of the webhook markers in a file.
func WebhookPaths(text []byte) []string {
	var paths []string
	for _, match := range webhookPath.FindAllSubmatch(text, -1) {
		paths = append(paths, string(match[1]))
	}
	return paths
}

var webhookPath = regexp.MustCompile("(?m)^[ \t]*// \\+kubebuilder:webhook:(?:.*?,)?path=[\"`]?([^,\"`\\s]+)")

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
	for _, decl := range file.Decls {
		names = append(names, edit.DeclaredNames(decl)...)
	}
	return names
}
