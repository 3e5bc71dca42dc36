package load

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"strconv"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// graph resolves the packages that the roots of one module import, without the go command. It starts with the roots,
// and looks up the imports of a package when the types of the package are needed. If it cannot resolve an import as the
// go command would, it returns an error, and the caller runs the go command instead.
type graph struct {
	program  *Program
	resolver *resolve.Resolver
	maker    packageMaker
	sizes    types.Sizes
	vertices map[*resolve.Package]*vertex
}

// vertex is a package in a graph.
type vertex struct {
	graph   *graph
	found   *resolve.Package
	pkg     *loader.Package
	imports map[string]*loader.Package // map that pkg.Imports returns; empty until the vertex is expanded
	next    []*vertex                  // imported packages
	listed  bool                       // true if next is complete
}

var errNotResolved = errors.New("the go command is required")

// resolved loads packages of all modules as loadModule does, but without the go command, and then calls narrow. It
// returns false if the go command is required.
func (p *Program) resolved(wanted map[source.Module][]string) ([]*loader.Package, *loader.TypeChecker, bool) {
	roots, err := p.resolveModules(wanted)
	var checker *loader.TypeChecker
	if err == nil {
		checker = p.narrow(roots)
		err = p.finishGraph()
	}
	if err != nil {
		p.vertices = nil
	}
	return roots, checker, err == nil
}

// resolveModules finds packages of all modules, in the order of the modules.
func (p *Program) resolveModules(wanted map[source.Module][]string) ([]*loader.Package, error) {
	p.vertices = map[*loader.Package]*vertex{}
	environment, err := p.tree.Environment()
	if err != nil {
		return nil, err
	}
	var roots []*loader.Package
	for _, mod := range modulesIn(wanted) {
		found, err := p.resolveModule(environment, mod, wanted[mod])
		if err != nil {
			return nil, err
		}
		roots = append(roots, found...)
	}
	return roots, nil
}

func (p *Program) resolveModule(environment *resolve.Environment, mod source.Module,
	importPaths []string) ([]*loader.Package, error) {
	resolver, err := p.tree.Resolver(mod.Dir)
	if err != nil {
		return nil, err
	}
	maker, ok := newPackageMaker(p.fset)
	sizes := types.SizesFor("gc", environment.Arch)
	if !ok || sizes == nil {
		return nil, errNotResolved
	}
	g := &graph{program: p, resolver: resolver, maker: maker, sizes: sizes, vertices: map[*resolve.Package]*vertex{}}
	var roots []*loader.Package
	for _, importPath := range importPaths {
		found, err := resolver.Find(importPath)
		if err != nil {
			return nil, err
		}
		roots = append(roots, g.vertex(found).pkg)
	}
	return roots, nil
}

// vertex returns the vertex of a package on disk.
func (g *graph) vertex(found *resolve.Package) *vertex {
	if known := g.vertices[found]; known != nil {
		return known
	}
	if found.Local {
		// Record only files that belong to the package, so that a file that this run generates does not make the next run
		// stale.
		g.program.tree.NoteGoFiles(found.Dir)
	}
	v := &vertex{graph: g, found: found, imports: map[string]*loader.Package{}}
	raw := &packages.Package{
		ID: found.Path, PkgPath: found.Path, Name: found.Name, Dir: found.Dir,
		Fset: g.program.fset, TypesSizes: g.sizes, Imports: map[string]*packages.Package{},
	}
	v.pkg = g.maker.make(raw, v.imports)
	g.vertices[found] = v
	g.program.vertices[v.pkg] = v
	return v
}

// needSyntax parses a package that is not parsed yet and resolves its imports.
func (p *Program) needSyntax(pkg *loader.Package) {
	v := p.vertices[pkg]
	if v == nil {
		p.parseDependency(pkg)
		return
	}
	if v.listed {
		return
	}
	if err := v.expand(); err != nil && p.graphErr == nil {
		p.graphErr = err
	}
}

// expand parses the files of a vertex and resolves their imports.
func (v *vertex) expand() error {
	p := v.graph.program
	if known := p.packageIn(v.found.Dir); known != nil {
		v.pkg.GoFiles, v.pkg.Syntax = known.files, known.Syntax
	} else {
		files, err := v.found.Files()
		if err != nil {
			return err
		}
		v.pkg.GoFiles = files
	}
	if v.found.Path == "unsafe" {
		v.listed = true
		return nil
	}
	v.pkg.CompiledGoFiles = v.pkg.GoFiles
	p.parseDependency(v.pkg)
	if v.pkg.Syntax == nil {
		return errNotResolved
	}
	return v.addImports(v.pkg.Syntax)
}

func (v *vertex) addImports(files []*ast.File) error {
	v.listed = true
	for _, file := range files {
		for _, spec := range file.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return errNotResolved
			}
			if v.imports[importPath] != nil {
				continue
			}
			found, err := v.graph.resolver.Import(v.found, importPath)
			if err != nil {
				return err
			}
			next := v.graph.vertex(found)
			v.imports[importPath] = next.pkg
			v.pkg.Package.Imports[importPath] = next.pkg.Package
			v.next = append(v.next, next)
		}
	}
	return nil
}

// packageIn returns the parsed package of the project in dir, or nil.
func (p *Program) packageIn(dir string) *Package { return p.folders[dir] }

// finishGraph resolves the imports of all packages outside the module cache, even if their types are not needed. Like
// the go command, it reports missing packages and import cycles.
func (p *Program) finishGraph() error {
	if p.graphErr != nil {
		return p.graphErr
	}
	states := map[*vertex]int{}
	for _, v := range p.vertices {
		if err := v.finish(states); err != nil {
			return err
		}
	}
	return nil
}

// These are the states of a vertex during the search for cycles.
const (
	visiting = iota + 1
	visited
)

func (v *vertex) finish(states map[*vertex]int) error {
	switch {
	case !v.found.Local || states[v] == visited:
		return nil
	case states[v] == visiting:
		return errNotResolved
	}
	states[v] = visiting
	if !v.listed {
		if err := v.listImports(); err != nil {
			return err
		}
	}
	for _, next := range v.next {
		if err := next.finish(states); err != nil {
			return err
		}
	}
	states[v] = visited
	return nil
}

// listImports resolves the imports of a package whose types are not needed.
func (v *vertex) listImports() error {
	p := v.graph.program
	if known := p.packageIn(v.found.Dir); known != nil {
		return v.addImports(known.Syntax)
	}
	names, err := v.found.Files()
	if err != nil {
		return err
	}
	var files []*ast.File
	for _, name := range names {
		content, err := p.tree.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(p.fset, name, content, parser.ImportsOnly|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	return v.addImports(files)
}

// packageMaker makes packages that behave like the packages that loader.LoadRoots returns. controller-tools has no
// function for this, because LoadRoots always runs the go command.
type packageMaker struct{ loader reflect.Value }

// newPackageMaker returns a packageMaker for packages whose files are in fset. It returns false if the unexported
// fields of controller-tools' loader differ from the expected ones.
func newPackageMaker(fset *token.FileSet) (packageMaker, bool) {
	field, ok := reflect.TypeFor[loader.Package]().FieldByName("loader")
	if !ok || field.Type.Kind() != reflect.Pointer || field.Type.Elem().Kind() != reflect.Struct {
		return packageMaker{}, false
	}
	made := reflect.New(field.Type.Elem())
	ok = setHidden(made, "cfg", &packages.Config{Fset: fset}) &&
		setHidden(made, "packages", map[*packages.Package]*loader.Package{}) &&
		setHidden(reflect.ValueOf(&loader.Package{}), "imports", map[string]*loader.Package{})
	return packageMaker{made}, ok
}

// make returns a package with the given imports. The caller may add imports to the map later.
func (m packageMaker) make(pkg *packages.Package, imports map[string]*loader.Package) *loader.Package {
	made := &loader.Package{Package: pkg}
	setHidden(reflect.ValueOf(made), "loader", m.loader.Interface())
	setHidden(reflect.ValueOf(made), "imports", imports)
	return made
}

// setHidden sets a field, which may be unexported, of the struct that pointer points to. It returns false if the struct
// has no field with this name and the type of value.
func setHidden(pointer reflect.Value, name string, value any) bool {
	field := pointer.Elem().FieldByName(name)
	if !field.IsValid() || field.Type() != reflect.TypeOf(value) {
		return false
	}
	reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Set(reflect.ValueOf(value))
	return true
}
