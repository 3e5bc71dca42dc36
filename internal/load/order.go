package load

import (
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/source"
)

// InOrder returns the packages in the order of controller-gen's loader: round by round (see [source.Turn]), and in each
// round every package follows its imports, as in the output of go list -deps. ok is false if only the go command can
// resolve the imports. InOrder does not resolve the imports of packages in the module cache.
func (p *Program) InOrder() (ordered []*Package, ok bool) {
	wanted := map[source.Module][]string{}
	for _, pkg := range p.packages {
		wanted[pkg.folder.Module] = append(wanted[pkg.folder.Module], pkg.PkgPath)
	}
	previous := p.vertices
	defer func() { p.vertices = previous }()
	roots, ok := p.imports(wanted)
	if !ok {
		return nil, false
	}
	rounds := map[int]map[int]*Package{}
	for _, pkg := range p.packages {
		for _, turn := range pkg.folder.Turns {
			if rounds[turn.Round] == nil {
				rounds[turn.Round] = map[int]*Package{}
			}
			rounds[turn.Round][turn.Place] = pkg
		}
	}
	for _, number := range slices.Sorted(maps.Keys(rounds)) {
		round := rounds[number]
		members := slices.Collect(maps.Values(round))
		seen := map[*vertex]bool{}
		for _, place := range slices.Sorted(maps.Keys(round)) {
			p.eachDependency(roots[round[place]], seen, func(pkg *Package) {
				if slices.Contains(members, pkg) && !slices.Contains(ordered, pkg) {
					ordered = append(ordered, pkg)
				}
			})
		}
	}
	return ordered, true
}

// eachDependency visits the packages of the project that a package imports, by import path, and then the package. It
// omits packages in seen.
func (p *Program) eachDependency(v *vertex, seen map[*vertex]bool, visit func(*Package)) {
	if v == nil || seen[v] {
		return
	}
	seen[v] = true
	for _, path := range slices.Sorted(maps.Keys(v.imports)) {
		p.eachDependency(p.vertices[v.imports[path]], seen, visit)
	}
	if pkg := p.packageIn(v.found.Dir); pkg != nil {
		visit(pkg)
	}
}

// imports resolves the imports of the packages, but not the imports of packages in the module cache.
func (p *Program) imports(wanted map[source.Module][]string) (map[*Package]*vertex, bool) {
	packages, err := p.resolveModules(wanted)
	if err != nil || p.finishGraph() != nil {
		return nil, false
	}
	found := map[*Package]*vertex{}
	for _, pkg := range packages {
		v := p.vertices[pkg]
		found[p.packageIn(v.found.Dir)] = v
	}
	return found, true
}
