package load

import (
	"path/filepath"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Dir returns the folder that was loaded from, an absolute path.
func (p *Program) Dir() string { return p.dir }

// Problems returns what is wrong with packages that another loader made, as [Program.Problems] does. File names are made
// relative to dir.
func Problems(dir string, roots []*loader.Package) error {
	return (&Program{dir: dir}).Problems(roots)
}

// ReadFile reads a file that has a say in what is generated, such as a header: it becomes one of [Program.Inputs].
func (p *Program) ReadFile(name string) ([]byte, error) { return p.tree.ReadFile(name) }

// UsesC reports whether beside the files of a package there are some that use cgo. Programs have none of them.
func (p *Program) UsesC(pkg *loader.Package) bool {
	if len(pkg.CompiledGoFiles) == 0 {
		return false
	}
	return p.tree.UsesC(filepath.Dir(pkg.CompiledGoFiles[0]))
}
