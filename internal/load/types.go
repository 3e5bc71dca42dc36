package load

import (
	"cmp"
	"context"
	"go/types"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/source"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
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
func Reachable(roots []*loader.Package) map[*loader.Package]bool { return reachable(roots, nil) }

// reachable returns the packages and all that they import but by way of others.
func reachable(roots, others []*loader.Package) map[*loader.Package]bool {
	seen := map[*loader.Package]bool{}
	var visit func(*loader.Package)
	visit = func(pkg *loader.Package) {
		if seen[pkg] || slices.Contains(others, pkg) {
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
