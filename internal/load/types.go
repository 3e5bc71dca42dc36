package load

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"

	"github.com/kctrl-dev/kctrl/internal/source"
)

// Types loads the packages that emit wants with all they import, in the form that the generators of controller-tools
// take; types are checked when a generator asks for them. Where imports cannot be resolved as the go command would, it is
// called once for each module. What is wrong with the imports of the wanted packages comes back joined from *diagnostic.Error;
// what is wrong with other packages does not matter.
func (p *Program) Types(ctx context.Context, emit func(*Package) bool) (genall.GenerationContext, error) {
	wanted := map[source.Module][]string{}
	for _, pkg := range p.packages {
		if emit(pkg) {
			wanted[pkg.module] = append(wanted[pkg.module], pkg.PkgPath)
		}
	}
	modules := slices.SortedFunc(maps.Keys(wanted), func(a, b source.Module) int { return cmp.Compare(a.Dir, b.Dir) })
	types := genall.GenerationContext{Collector: &markers.Collector{Registry: p.registry.Registry}}
	if roots, checker, ok := p.resolved(wanted, modules); ok {
		types.Roots, types.Checker = roots, checker
		return types, nil
	}
	for _, mod := range modules {
		listing := p.beginListing(mod.Dir)
		loaded, err := p.loadModule(ctx, mod, wanted[mod])
		if err != nil {
			return types, err
		}
		listing.end(loaded)
		types.Roots = append(types.Roots, loaded...)
	}
	p.reuseSyntax(types.Roots)
	if err := p.Problems(types.Roots); err != nil {
		return types, err
	}
	types.Checker = p.narrow(types.Roots)
	return types, nil
}

// loadModule lists packages of one module, and everything below them.
func (p *Program) loadModule(ctx context.Context, mod source.Module, importPaths []string) ([]*loader.Package, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, &diagnostic.Error{
			Message: "the go command was not found",
			Hint:    "install Go from https://go.dev/dl, or add its bin folder to PATH",
			Cause:   err,
		}
	}
	loaded, err := loader.LoadRootsWithConfig(&packages.Config{
		Context: ctx,
		Dir:     mod.Dir,
		Fset:    p.fset,
		Overlay: p.goOverlay(),
		// With cgo, listing packages would compile their C code.
		Env: append(os.Environ(), "CGO_ENABLED=0"),
	}, importPaths...)
	if err != nil {
		return nil, p.listError(ctx, mod, err)
	}
	return loaded, nil
}

// goOverlay returns the part of the overlay that the go command has to see. It cannot be told that a file is gone, so
// such a file is given a build constraint that nothing meets.
func (p *Program) goOverlay() map[string][]byte {
	gone := []byte("//go:build ignore && !ignore\n\npackage ignore\n")
	overlay := map[string][]byte{}
	for _, pkg := range p.packages {
		for _, name := range pkg.broken {
			overlay[name] = gone
		}
	}
	for name, content := range p.tree.Overlay() {
		base := filepath.Base(name)
		switch {
		case filepath.Ext(name) == ".go" && content == nil:
			overlay[name] = gone
		case filepath.Ext(name) == ".go" || base == "go.mod" || base == "go.sum" || base == "go.work":
			overlay[name] = content
		}
	}
	return overlay
}

// reuseSyntax gives the loaded packages the syntax that was parsed already, and that of files that are not on disk.
func (p *Program) reuseSyntax(roots []*loader.Package) {
	parsed := map[string]*ast.File{}
	for _, pkg := range p.packages {
		for i, name := range pkg.files {
			parsed[name] = pkg.Syntax[i]
		}
	}
	for pkg := range Reachable(roots) {
		known := slices.ContainsFunc(pkg.CompiledGoFiles, func(name string) bool {
			_, planned := p.tree.Overlay()[name]
			return planned || parsed[name] != nil
		})
		if known {
			p.parseInto(pkg, parsed)
		}
	}
}

func (p *Program) parseInto(pkg *loader.Package, parsed map[string]*ast.File) {
	var syntax []*ast.File
	for _, name := range pkg.CompiledGoFiles {
		file := parsed[name]
		if file == nil {
			content, err := p.tree.ReadFile(name)
			if err == nil {
				file, err = parser.ParseFile(p.fset, name, content, parserMode)
			}
			if err != nil {
				pkg.AddError(err)
				return
			}
		}
		syntax = append(syntax, file)
	}
	pkg.Syntax = syntax
}

// Declaring returns the packages of types: those that roots and all that they import have been checked for.
func Declaring(roots []*loader.Package) map[*types.Package]*loader.Package {
	found := map[*types.Package]*loader.Package{}
	for pkg := range Reachable(roots) {
		if pkg.Types != nil {
			found[pkg.Types] = pkg
		}
	}
	return found
}

// Reachable returns the packages and all that they import.
func Reachable(roots []*loader.Package) map[*loader.Package]bool {
	seen := map[*loader.Package]bool{}
	var visit func(*loader.Package)
	visit = func(pkg *loader.Package) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, imported := range pkg.Imports() {
			visit(imported)
		}
	}
	for _, root := range roots {
		visit(root)
	}
	return seen
}
