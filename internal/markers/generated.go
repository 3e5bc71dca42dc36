package markers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Generated returns the files of a package that are left out because they were generated, as far as they parse: without
// comments, and without the bodies of functions.
func (p *Program) Generated(pkg *loader.Package) []*ast.File {
	if len(pkg.GoFiles) == 0 {
		return nil
	}
	dir := filepath.Dir(pkg.GoFiles[0])
	names, err := p.tree.leftOut(dir)
	if p.tree.log.wants(filepath.Join(dir, generatedFile)) {
		p.tree.log.note(AskLeftOut, dir, answerNames(names, err))
	}
	var files []*ast.File
	for _, name := range names {
		content, err := p.tree.readFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(content, []byte(ignoreGenerated)) {
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
func Generated(pkg *loader.Package) []*ast.File { return (&Program{tree: newTree(nil)}).Generated(pkg) }

// leftOut returns the names of the Go files in a folder that do not belong to its package, sorted, without tests.
func (t *tree) leftOut(dir string) ([]string, error) {
	names, _, err := t.list(dir)
	if err != nil {
		return nil, err
	}
	belong, err := t.goFiles(dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool {
		_, belongs := slices.BinarySearch(belong, name)
		return belongs || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")
	}), nil
}
