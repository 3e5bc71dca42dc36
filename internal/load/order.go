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
		w := walk{program: p, seen: map[*vertex]bool{}}
		for _, pkg := range round {
			w.round = append(w.round, pkg)
		}
		for _, place := range slices.Sorted(maps.Keys(round)) {
			w.visit(roots[round[place]])
		}
		for _, pkg := range w.listed {
			if !slices.Contains(ordered, pkg) {
				ordered = append(ordered, pkg)
			}
		}
	}
	return ordered, true
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

// walk lists the packages of one round.
type walk struct {
	program *Program
	round   []*Package
	seen    map[*vertex]bool
	listed  []*Package
}

// visit lists the imports of a package, by import path, and then the package.
func (w *walk) visit(v *vertex) {
	if v == nil || w.seen[v] {
		return
	}
	w.seen[v] = true
	for _, path := range slices.Sorted(maps.Keys(v.imports)) {
		w.visit(w.program.vertices[v.imports[path]])
	}
	if pkg := w.program.packageIn(v.found.Dir); pkg != nil && slices.Contains(w.round, pkg) {
		w.listed = append(w.listed, pkg)
	}
}
