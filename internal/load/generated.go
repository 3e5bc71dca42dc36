package load

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/source"
)

// Generated returns the files of a package that are left out because they were generated, as far as they parse: without
// comments, and without the bodies of functions.
func (p *Program) Generated(pkg *loader.Package) []*ast.File {
	if len(pkg.GoFiles) == 0 {
		return nil
	}
	dir := filepath.Dir(pkg.GoFiles[0])
	names, _ := p.tree.LeftOut(dir)
	var files []*ast.File
	for _, name := range names {
		content, err := p.tree.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(content, []byte(source.IgnoreGenerated)) {
			continue
		}
		if file, err := parser.ParseFile(token.NewFileSet(), name, withoutBodies(content), parser.SkipObjectResolution); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// GeneratedElsewhere does so for packages that are not of the project: generated files of the project may go away.
func (p *Program) GeneratedElsewhere(pkg *loader.Package) []*ast.File {
	if len(pkg.GoFiles) == 0 || p.packageIn(filepath.Dir(pkg.GoFiles[0])) != nil {
		return nil
	}
	return p.Generated(pkg)
}

// Generated does so for a package that another loader made.
func Generated(pkg *loader.Package) []*ast.File {
	return (&Program{tree: source.NewTree(nil)}).Generated(pkg)
}
