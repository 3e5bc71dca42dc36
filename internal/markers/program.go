package markers

import "sigs.k8s.io/controller-tools/pkg/loader"

// Dir returns the folder that was loaded from, an absolute path.
func (p *Program) Dir() string { return p.dir }

// Problems returns what is wrong with packages that another loader made, as [Program.Problems] does. File names are made
// relative to dir.
func Problems(dir string, roots []*loader.Package) error {
	return (&Program{dir: dir}).Problems(roots)
}
