package access

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
)

// The import paths of the libraries whose functions the analysis recognizes by name instead of analyzing their bodies.
const (
	runtimePath           = "github.com/kctrl-dev/kctrl/runtime"
	controllerRuntimePath = "sigs.k8s.io/controller-runtime"
	clientGoPath          = "k8s.io/client-go"
)

// Config configures [Analyze].
type Config struct {
	// Dir is the absolute path of the project. Positions are relative to it.
	Dir string
	// Patterns are package patterns relative to Dir. Empty means "./...". A named main package is a root even if it
	// runs no manager.
	Patterns []string
	// Cache caches results. A store without a directory disables the cache.
	Cache incremental.Store
}

// program is the loaded code.
type program struct {
	dir      string
	fset     *token.FileSet
	own      []*packages.Package                  // packages that match the patterns
	read     []*packages.Package                  // own, and the libraries whose bodies are analyzed
	all      map[string]*packages.Package         // own and all packages that they import, without types
	bodies   map[*types.Package]*packages.Package // packages of read, by their types
	types    map[string]*types.Package
	ssa      *ssa.Program
	problems []*diagnostic.Error
}

const (
	graphMode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule
	// typesMode reads packages that are not named from the compiler's export data, because it has no NeedDeps.
	typesMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedExportFile | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax |
		packages.NeedTypesInfo | packages.NeedModule
)

// load loads the packages that match the patterns, and the libraries to which they pass clients, with types and syntax.
// Of the other packages, it loads only the exported types.
func load(ctx context.Context, cfg Config) (*program, error) {
	patterns := cfg.Patterns
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	p := &program{
		dir: cfg.Dir, fset: token.NewFileSet(), all: map[string]*packages.Package{},
		bodies: map[*types.Package]*packages.Package{}, types: map[string]*types.Package{},
	}
	graph, err := packages.Load(&packages.Config{Context: ctx, Mode: graphMode, Dir: cfg.Dir}, patterns...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, diagnostic.GoList(err)
	}
	wanted := slices.Concat(patterns, libraries(graph))
	config := &packages.Config{Context: ctx, Mode: typesMode, Dir: cfg.Dir, Fset: p.fset}
	loaded, err := packages.Load(config, wanted...)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, diagnostic.GoList(err)
	}
	inPatterns := map[string]bool{}
	for _, pkg := range graph {
		inPatterns[pkg.PkgPath] = true
	}
	packages.Visit(graph, nil, func(pkg *packages.Package) { p.all[pkg.PkgPath] = pkg })
	for _, pkg := range loaded {
		if isFramework(pkg.PkgPath) {
			continue
		}
		p.read = append(p.read, pkg)
		if inPatterns[pkg.PkgPath] {
			p.own = append(p.own, pkg)
		}
	}
	if len(p.own) == 0 {
		return nil, &diagnostic.Error{
			Message: "no Go packages match " + strings.Join(patterns, " "),
			Hint:    "run kctrl rbac in the directory of a Go module, or name its packages",
		}
	}
	return p, nil
}

// isFramework reports whether the analysis recognizes the functions of a package by name.
func isFramework(path string) bool {
	return within(path, runtimePath) || within(path, controllerRuntimePath) || within(path, clientGoPath) ||
		strings.HasPrefix(path, "k8s.io/api/") || within(path, "k8s.io/apimachinery") || isGeneratedClient(path)
}

func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// isGeneratedClient reports whether, according to its path, client-gen, informer-gen or lister-gen generated a package.
func isGeneratedClient(path string) bool {
	return strings.Contains(path, "/clientset/") || strings.HasSuffix(path, "/clientset") ||
		strings.Contains(path, "/informers/") || strings.Contains(path, "/listers/") ||
		strings.Contains(path, "/applyconfiguration/")
}

// libraries returns the packages that import a client directly and do not match the patterns, because programs pass
// clients to them.
func libraries(graph []*packages.Package) []string {
	own := map[string]bool{}
	for _, pkg := range graph {
		own[pkg.PkgPath] = true
	}
	var found []string
	packages.Visit(graph, nil, func(pkg *packages.Package) {
		if own[pkg.PkgPath] || isFramework(pkg.PkgPath) || pkg.Module == nil {
			return
		}
		for path := range pkg.Imports {
			if isClient(path) {
				found = append(found, pkg.PkgPath)
				return
			}
		}
	})
	slices.Sort(found)
	return found
}

// isClient reports whether a package provides a client of the API server.
func isClient(path string) bool {
	switch path {
	case controllerRuntimePath, controllerRuntimePath + "/pkg/client", runtimePath + "/client",
		clientGoPath + "/kubernetes", clientGoPath + "/dynamic", clientGoPath + "/tools/record":
		return true
	}
	return strings.HasPrefix(path, clientGoPath+"/kubernetes/typed/")
}

// build creates the SSA form of all code that has types. It removes the bodies of functions that do not compile, and
// records their errors as problems.
func (p *program) build() {
	p.ssa = ssa.NewProgram(p.fset, ssa.InstantiateGenerics)
	for _, pkg := range p.read {
		if pkg.Types != nil {
			p.bodies[pkg.Types] = pkg
		}
	}
	created := map[*types.Package]bool{}
	var create func(*types.Package)
	create = func(t *types.Package) {
		if created[t] {
			return
		}
		created[t] = true
		p.types[t.Path()] = t
		for _, imported := range t.Imports() {
			create(imported)
		}
		pkg, ok := p.bodies[t]
		if !ok {
			p.ssa.CreatePackage(t, nil, nil, true)
			return
		}
		p.leaveBroken(pkg)
		p.ssa.CreatePackage(t, pkg.Syntax, pkg.TypesInfo, true)
	}
	for _, pkg := range p.read {
		if pkg.Types != nil {
			create(pkg.Types)
		}
	}
	for _, pkg := range p.read {
		if s := p.ssa.Package(pkg.Types); s != nil {
			p.buildPackage(s, pkg)
		}
	}
}

// buildPackage builds one package, and records a problem if the builder panics. It can panic on code with type errors.
func (p *program) buildPackage(s *ssa.Package, pkg *packages.Package) {
	defer func() {
		if v := recover(); v != nil {
			p.problems = append(p.problems, &diagnostic.Error{
				Pos:     token.Position{Filename: p.relative(dirOf(pkg))},
				Message: fmt.Sprintf("not analyzed: package %s does not compile: %v", pkg.PkgPath, v),
				Hint:    "run go build ./... and repair what it reports",
			})
		}
	}()
	s.Build()
}

func dirOf(pkg *packages.Package) string {
	if len(pkg.GoFiles) == 0 {
		return pkg.PkgPath
	}
	return filepath.Dir(pkg.GoFiles[0])
}

// leaveBroken removes the bodies of functions with errors from the syntax of a package, and reports the errors.
func (p *program) leaveBroken(pkg *packages.Package) {
	missing := p.missingImport(pkg)
	if missing != nil {
		p.problems = append(p.problems, missing)
	}
	unreadable := map[string]bool{} // files with a syntax error, which causes their other errors
	for _, e := range pkg.Errors {
		pos := p.position(e.Pos)
		if missing != nil || e.Kind == packages.ListError && len(pkg.TypeErrors) > 0 || unreadable[pos.Filename] {
			continue // a list error repeats the type errors in the compiler's words
		}
		unreadable[pos.Filename] = e.Kind == packages.ParseError
		message, hint := explain(pkg, e.Msg)
		p.problems = append(p.problems, &diagnostic.Error{Pos: pos, Message: "not analyzed: " + message, Hint: hint})
	}
	if len(pkg.TypeErrors) == 0 {
		return
	}
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			isIn := func(e types.Error) bool { return fn.Pos() <= e.Pos && e.Pos <= fn.End() }
			if ok && (slices.ContainsFunc(pkg.TypeErrors, isIn) || usesInvalid(fn, pkg.TypesInfo)) {
				fn.Body = nil
			}
		}
	}
}

// explain returns the message of an error and a hint. For a failed import, it returns the message of the imported
// package.
func explain(pkg *packages.Package, message string) (text, hint string) {
	hint = "repair what go build ./... reports, and run the command again"
	rest, isImport := strings.CutPrefix(message, "could not import ")
	name, _, _ := strings.Cut(rest, " ")
	switch imported := pkg.Imports[name]; {
	case isImport && name == "C":
		return "the go command cannot use cgo",
			"install a C compiler, or set CGO_ENABLED=0 if the operator is built without cgo"
	case isImport && imported != nil && len(imported.Errors) > 0:
		message = imported.Errors[0].Msg
	}
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ").Replace(message), hint
}

// usesInvalid reports whether a function has an expression without a valid type.
func usesInvalid(fn *ast.FuncDecl, info *types.Info) (invalid bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			obj := info.ObjectOf(n)
			_, isPackage := obj.(*types.PkgName)
			invalid = invalid || obj != nil && !isPackage && obj.Type() == types.Typ[types.Invalid]
		case *ast.SelectorExpr:
			invalid = invalid || info.Selections[n] == nil && info.Uses[n.Sel] == nil
		case ast.Expr:
			if tv, ok := info.Types[n]; ok {
				invalid = invalid || tv.Type == types.Typ[types.Invalid]
			}
		}
		return !invalid
	})
	return invalid
}

// position parses a position in the format of go/packages.
func (p *program) position(text string) token.Position {
	pos := diagnostic.ParsePosition(text)
	pos.Filename = p.relative(pos.Filename)
	return pos
}

// relative returns the name of a file relative to p.dir, as [Relative] does.
func (p *program) relative(name string) string { return Relative(p.dir, name) }

// Relative returns the name of a file relative to a directory, with slashes, if the file is in it. It returns
// other names unchanged.
func Relative(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsAbs(name) && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		if rel, err := filepath.Rel(real, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return name
}

// at returns a position with a file name relative to p.dir.
func (p *program) at(pos token.Pos) token.Position {
	at := p.fset.Position(pos)
	at.Filename, at.Offset = p.relative(at.Filename), 0
	return at
}

// missingImport returns an error if no downloaded module provides an import of a package, and nil otherwise.
func (p *program) missingImport(pkg *packages.Package) *diagnostic.Error {
	for _, path := range slices.Sorted(maps.Keys(pkg.Imports)) {
		for _, e := range pkg.Imports[path].Errors {
			if d := diagnostic.MissingModule(e.Msg); d != nil && e.Kind == packages.ListError {
				d.Pos, d.Message = p.position(e.Pos), "not analyzed: "+d.Message
				return d
			}
		}
	}
	return nil
}

// skipped records a problem for each file of the analyzed packages that build constraints exclude and that may send
// requests.
func (p *program) skipped() {
	for _, pkg := range p.own {
		for _, name := range slices.Sorted(slices.Values(pkg.IgnoredFiles)) {
			if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || !mentionsAPI(name) {
				continue
			}
			p.problems = append(p.problems, &diagnostic.Error{
				Pos:     token.Position{Filename: p.relative(name)},
				Message: "not analyzed: excluded by build constraints",
				Hint:    "set GOFLAGS=-tags=TAG, GOOS or CGO_ENABLED as in the build of the operator",
			})
		}
	}
}

// modulesBelow returns the directories of other modules below p.dir whose files may send requests. The analysis skips
// these modules.
func (p *program) modulesBelow() (found []string) {
	module := ""
	_ = filepath.WalkDir(p.dir, func(name string, file os.DirEntry, err error) error {
		base := filepath.Base(name)
		if err != nil || name == p.dir {
			return nil
		}
		if file.IsDir() {
			if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
				slices.Contains([]string{"vendor", "testdata", "node_modules", "third_party"}, base) {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil {
				module = name
			}
			return nil
		}
		if module != "" && within(filepath.ToSlash(name), filepath.ToSlash(module)) && strings.HasSuffix(base, ".go") &&
			!strings.HasSuffix(base, "_test.go") && !slices.Contains(found, p.relative(module)) && mentionsAPI(name) {
			found = append(found, p.relative(module))
		}
		return nil
	})
	return found
}

// mentionsAPI reports whether a file contains the import path of a client library or an RBAC marker.
func mentionsAPI(name string) bool {
	content, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	for _, part := range []string{controllerRuntimePath, clientGoPath, runtimePath, "+kubebuilder:rbac"} {
		if strings.Contains(string(content), part) {
			return true
		}
	}
	return false
}

// besideOperators are the names of directories whose programs are not operators, such as generators and tests.
var besideOperators = []string{"hack", "test", "tests", "e2e", "tools", "examples", "docs"}

// programs returns the programs to analyze, and the functions that they reach. named reports whether the user listed
// packages; then these are all programs that match the patterns. Otherwise they are the programs that run a manager or
// informers, or else those that link a manager, or else all programs.
func (p *program) programs(ctx context.Context, named bool) ([]*packages.Package, *reach) {
	var all, linking, running []*packages.Package
	for _, pkg := range p.own {
		if pkg.Name != "main" {
			continue
		}
		all = append(all, pkg)
		if named || p.links(pkg) && !p.isBeside(pkg) {
			linking = append(linking, pkg)
		}
	}
	if !named && len(linking) > 1 {
		for _, pkg := range linking {
			if p.reached(ctx, []*packages.Package{pkg}).runsManager() {
				running = append(running, pkg)
			}
		}
	}
	for _, mains := range [][]*packages.Package{running, linking, all} {
		if len(mains) > 0 {
			slices.SortFunc(mains, func(a, b *packages.Package) int { return cmp.Compare(a.PkgPath, b.PkgPath) })
			return mains, p.reached(ctx, mains)
		}
	}
	return nil, p.reached(ctx, nil)
}

func (p *program) reached(ctx context.Context, mains []*packages.Package) *reach {
	r := newReach(p)
	r.from(ctx, p.entries(mains))
	return r
}

// isBeside reports whether a program is in one of the directories of besideOperators.
func (p *program) isBeside(pkg *packages.Package) bool {
	return slices.ContainsFunc(strings.Split(p.relative(dirOf(pkg)), "/"), func(name string) bool {
		return slices.Contains(besideOperators, name)
	})
}

// linked returns the import paths of the programs, and of the packages of the main module that they import.
func (p *program) linked(mains []*packages.Package) []string {
	var paths []string
	p.visit(mains, func(pkg *packages.Package) bool {
		if !isMain(pkg) {
			return false
		}
		paths = append(paths, pkg.PkgPath)
		return true
	})
	slices.Sort(paths)
	return paths
}

// isMain reports whether a package belongs to the main module.
func isMain(pkg *packages.Package) bool { return pkg.Module != nil && pkg.Module.Main }

// visit calls enter for each package that programs link. It does not follow the imports of a package for which enter
// returns false.
func (p *program) visit(mains []*packages.Package, enter func(*packages.Package) bool) {
	var roots []*packages.Package
	for _, pkg := range mains {
		roots = append(roots, p.all[pkg.PkgPath])
	}
	packages.Visit(roots, enter, nil)
}

// links reports whether a program links a controller manager or client-go's informers.
func (p *program) links(main *packages.Package) (found bool) {
	p.visit([]*packages.Package{main}, func(pkg *packages.Package) bool {
		switch pkg.PkgPath {
		case controllerRuntimePath, controllerRuntimePath + "/pkg/manager", runtimePath + "/manager",
			clientGoPath + "/tools/cache":
			found = true
		}
		return !found && !isFramework(pkg.PkgPath)
	})
	return found
}
