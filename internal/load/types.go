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

// Types loads the packages that emit selects, with their imports, for controller-tools' generators. Types are checked
// on demand. If kctrl cannot resolve imports, Types runs the go command once per module. The error joins a
// *diagnostic.Error for each problem with imports of the selected packages. Problems of other packages are ignored.
func (p *Program) Types(ctx context.Context, emit func(*Package) bool) (genall.GenerationContext, error) {
	wanted := map[source.Module][]string{}
	for _, pkg := range p.packages {
		if emit(pkg) {
			wanted[pkg.folder.Module] = append(wanted[pkg.folder.Module], pkg.PkgPath)
		}
	}
	types := genall.GenerationContext{Collector: &markers.Collector{Registry: p.registry.Registry}}
	if roots, checker, ok := p.resolved(wanted); ok {
		types.Roots, types.Checker = roots, checker
		return types, nil
	}
	for _, mod := range modulesIn(wanted) {
		asked := p.tree.Ask(mod.Dir)
		loaded, err := p.loadModule(ctx, mod, wanted[mod])
		if err != nil {
			return types, err
		}
		p.unknown = !p.noteListed(asked, loaded) || p.unknown
		types.Roots = append(types.Roots, loaded...)
	}
	p.reuseSyntax(types.Roots)
	if err := p.Problems(types.Roots); err != nil {
		return types, err
	}
	types.Checker = p.narrow(types.Roots)
	return types, nil
}

func modulesIn(wanted map[source.Module][]string) []source.Module {
	return slices.SortedFunc(maps.Keys(wanted), func(a, b source.Module) int { return cmp.Compare(a.Dir, b.Dir) })
}

// Declaring maps each checked types.Package among roots and their imports to its loaded package.
func Declaring(roots []*loader.Package) map[*types.Package]*loader.Package {
	found := map[*types.Package]*loader.Package{}
	for pkg := range Reachable(roots) {
		if pkg.Types != nil {
			found[pkg.Types] = pkg
		}
	}
	return found
}

// Reachable returns the packages and their direct and indirect imports.
func Reachable(roots []*loader.Package) map[*loader.Package]bool { return reachable(roots, nil) }

// reachable returns the packages in roots and their direct and indirect imports. It omits the packages in others and
// does not follow their imports.
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
