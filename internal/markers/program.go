package markers

import (
	"bytes"
	"path/filepath"
	"strings"

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
func (p *Program) ReadFile(name string) ([]byte, error) { return p.tree.readFile(name) }

// UsesC reports whether beside the files of a package there are some that use cgo. Programs have none of them.
func (p *Program) UsesC(pkg *loader.Package) bool {
	if len(pkg.CompiledGoFiles) == 0 {
		return false
	}
	dir := filepath.Dir(pkg.CompiledGoFiles[0])
	found := p.tree.usesC(dir)
	if p.tree.log.wants(dir) {
		p.tree.log.note(AskUsesC, dir, answerBool(found))
	}
	return found
}

// usesC reports whether a folder has Go files that use cgo. A folder that cannot be read may have some.
func (t *tree) usesC(dir string) bool {
	names, _, err := t.list(dir)
	if err != nil {
		return true
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		full := filepath.Join(dir, name)
		if known, ok := t.known(full); ok && !known.usesC {
			continue
		}
		if content, err := t.content(full); err != nil || importsCgo(content) {
			return true
		}
	}
	return false
}

func importsCgo(content []byte) bool { return bytes.Contains(content, []byte(`import "C"`)) }
