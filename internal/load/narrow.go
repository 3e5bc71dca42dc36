package load

import (
	"go/ast"
	"path"
	"strconv"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// narrow returns a type checker that checks only types to which the types of roots refer, directly or indirectly. The
// checker of controller-tools checks all types of all packages, including Go's own runtime. narrow also parses the
// needed packages, without function bodies.
func (p *Program) narrow(roots []*loader.Package) *loader.TypeChecker {
	r := &reach{program: p, packages: map[*loader.Package]index{}, needed: map[typeName]bool{}}
	for _, root := range roots {
		for name := range r.index(root) {
			r.need(root, name)
		}
	}
	r.run()
	needed := r.neededNodes()
	return &loader.TypeChecker{NodeFilters: []loader.NodeFilter{func(node ast.Node) bool {
		_, isInterface := node.(*ast.InterfaceType)
		isNeeded, declared := needed[node]
		return !isInterface && (isNeeded || !declared)
	}}}
}

// neededNodes reports for each declared type whether it is needed. Modules that import each other's packages share
// their syntax, so a type is needed if any of these modules needs it.
func (r *reach) neededNodes() map[ast.Node]bool {
	nodes := map[ast.Node]bool{}
	for pkg, index := range r.packages {
		for name, specs := range index {
			for _, s := range specs {
				nodes[s.spec.Type] = nodes[s.spec.Type] || r.needed[typeName{pkg, name}]
			}
		}
	}
	return nodes
}

// reach finds the types that other types refer to.
type reach struct {
	program  *Program
	packages map[*loader.Package]index
	needed   map[typeName]bool
	queue    []typeName // needed types whose references are not followed yet
}

type typeName struct {
	pkg  *loader.Package
	name string
}

// index contains the type declarations of a package by name. A name can have several declarations in invalid code.
type index map[string][]typeSpec

type typeSpec struct {
	spec *ast.TypeSpec
	file *imports
}

// imports are the imports of a file, by local name.
type imports struct {
	named map[string]*loader.Package
	dots  []*loader.Package
}

func (r *reach) index(pkg *loader.Package) index {
	if known := r.packages[pkg]; known != nil {
		return known
	}
	r.program.needSyntax(pkg)
	found := index{}
	r.packages[pkg] = found
	for _, file := range pkg.Syntax {
		names := importsOf(pkg, file)
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range general.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					found[t.Name.Name] = append(found[t.Name.Name], typeSpec{t, names})
				}
			}
		}
	}
	return found
}

func importsOf(pkg *loader.Package, file *ast.File) *imports {
	found := &imports{named: map[string]*loader.Package{}}
	for _, spec := range file.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		imported := pkg.Imports()[importPath]
		switch {
		case imported == nil:
		case spec.Name == nil && imported.Name == "":
			found.named[path.Base(importPath)] = imported
		case spec.Name == nil:
			found.named[imported.Name] = imported
		case spec.Name.Name == ".":
			found.dots = append(found.dots, imported)
		default:
			found.named[spec.Name.Name] = imported
		}
	}
	return found
}

func (r *reach) need(pkg *loader.Package, name string) {
	t := typeName{pkg, name}
	if r.needed[t] || r.index(pkg)[name] == nil {
		return
	}
	r.needed[t] = true
	r.queue = append(r.queue, t)
}

func (r *reach) run() {
	for len(r.queue) > 0 {
		t := r.queue[0]
		r.queue = r.queue[1:]
		for _, s := range r.packages[t.pkg][t.name] {
			r.follow(t.pkg, s)
		}
	}
}

// follow marks the types that one declaration refers to as needed.
func (r *reach) follow(pkg *loader.Package, s typeSpec) {
	ast.Inspect(s.spec.Type, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.InterfaceType:
			return false
		case *ast.SelectorExpr:
			if name, ok := node.X.(*ast.Ident); ok && s.file.named[name.Name] != nil {
				r.need(s.file.named[name.Name], node.Sel.Name)
				return false
			}
		case *ast.Ident:
			r.need(pkg, node.Name)
			for _, imported := range s.file.dots {
				r.need(imported, node.Name)
			}
		}
		return true
	})
}
