package load

import (
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// listing is a call of the go command that lists packages: what it could learn from the disk is noted, so that its answer
// is one of the inputs.
type listing struct {
	program *Program
	asked   *resolve.Asked // nil if nobody knows what the go command goes by
}

// beginListing notes what the go command will ask about modules.
func (p *Program) beginListing(dir string) listing {
	return listing{program: p, asked: p.tree.Ask(dir)}
}

// end notes where the listed packages come from. Should a listed package be one that kctrl would not have found, nobody
// knows when it changes.
func (l listing) end(roots []*loader.Package) {
	if l.asked == nil {
		l.program.unknown = true
		return
	}
	for pkg := range Reachable(roots) {
		if !l.note(pkg) {
			l.program.unknown = true
			return
		}
	}
}

// note notes what the go command has to know about one package. It reports false if that cannot be known.
func (l listing) note(pkg *loader.Package) bool {
	if slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool { return e.Kind != packages.TypeError }) {
		return false
	}
	if pkg.PkgPath == "unsafe" {
		return true
	}
	if len(pkg.GoFiles) == 0 || !slices.Equal(pkg.GoFiles, pkg.CompiledGoFiles) {
		// What cgo makes depends on the C compiler.
		return false
	}
	l.asked.Package(pkg.PkgPath)
	dir, tree := filepath.Dir(pkg.GoFiles[0]), l.program.tree
	if !tree.Notes(dir) {
		return true
	}
	names, err := tree.GoFiles(dir)
	if err != nil || len(names) != len(pkg.GoFiles) {
		return false
	}
	for i, name := range names {
		name = filepath.Join(dir, name)
		if pkg.GoFiles[i] != name {
			return false
		}
		if _, err := tree.ReadFile(name); err != nil {
			return false
		}
	}
	tree.NoteGoFiles(dir)
	return true
}
