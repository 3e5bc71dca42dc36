package load

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// generatedFile is the name of the Go code that generators write.
const generatedFile = "zz_generated.deepcopy.go"

// parserMode is the mode for parsing files of the project. It skips object resolution, which is not used.
const parserMode = parser.ParseComments | parser.SkipObjectResolution

// Package is one package of the project: its syntax and its markers, without types.
type Package struct {
	// Package contains the syntax of the files, ordered by file name. It has no types; only the packages that
	// [Program.Types] returns have types.
	*loader.Package
	folder source.Dir
	files  []string // absolute, in the order of Syntax
	broken []string // absolute names of generated files with syntax errors
	// cgo contains the files that use cgo. References to C are removed from their syntax. It is empty in a lenient load.
	cgo map[string]bool
	ofC []string // names of the removed types

	// Markers are the markers of all files, including ignored ones. Callers must not modify them.
	Markers []markers.Marker
}

// Has reports whether the package has one of the named markers in a place where generators read it.
func (p *Package) Has(names ...string) bool {
	return slices.ContainsFunc(p.Markers, func(m markers.Marker) bool {
		return counts(m) && slices.Contains(names, m.Definition.Name)
	})
}

// Values returns the values of the markers with a name, in source order. It omits invalid markers and markers that
// generators do not read.
func (p *Package) Values(name string) []any {
	var values []any
	for _, m := range p.Markers {
		if counts(m) && m.Definition.Name == name {
			values = append(values, m.Value)
		}
	}
	return values
}

// Unreadable reports whether a marker that generators read has invalid arguments. It checks only markers for which
// known returns true.
func (p *Package) Unreadable(known func(name string) bool) bool {
	return slices.ContainsFunc(p.Markers, func(m markers.Marker) bool {
		return m.Counts() && m.Err != nil && known(m.Definition.Name)
	})
}

// counts reports whether a marker is valid and generators read it.
func counts(m markers.Marker) bool { return m.Err == nil && m.Counts() }

// Only returns a package that contains only the named package markers of p, for controller-tools' generators that read
// only package markers.
func (p *Package) Only(names ...string) *loader.Package {
	only := *p.Package.Package
	only.Syntax = nil
	for _, file := range p.Syntax {
		alone := &ast.File{Name: &ast.Ident{}}
		for _, m := range p.Markers {
			inFile := file.FileStart <= m.Pos && m.Pos < file.FileEnd
			if inFile && counts(m) && slices.Contains(names, m.Definition.Name) {
				comment := &ast.Comment{Slash: m.Pos - 2, Text: "//" + m.Text}
				alone.Comments = append(alone.Comments, &ast.CommentGroup{List: []*ast.Comment{comment}})
			}
		}
		only.Syntax = append(only.Syntax, alone)
	}
	return &loader.Package{Package: &only}
}

// Generated returns the generated files of a package, which its syntax does not contain. The files have no comments and
// no function bodies. Generated omits files with syntax errors.
func (p *Program) Generated(pkg *loader.Package) []*ast.File {
	if len(pkg.GoFiles) == 0 {
		return nil
	}
	dir := filepath.Dir(pkg.GoFiles[0])
	names, _ := p.tree.LeftOut(dir)
	var files []*ast.File
	for _, name := range names {
		content, err := p.tree.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(content, []byte(resolve.DefaultTag)) {
			continue
		}
		if file, err := parser.ParseFile(token.NewFileSet(), name, withoutBodies(content),
			parser.SkipObjectResolution); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// GeneratedElsewhere returns the generated files of a package outside the project, as Generated does. For packages of
// the project it returns nil, because a run may delete their generated files.
func (p *Program) GeneratedElsewhere(pkg *loader.Package) []*ast.File {
	if len(pkg.GoFiles) == 0 || p.packageIn(filepath.Dir(pkg.GoFiles[0])) != nil {
		return nil
	}
	return p.Generated(pkg)
}

// Generated returns the generated files of a package of another loader, as [Program.Generated] does.
func Generated(pkg *loader.Package) []*ast.File {
	return (&Program{tree: source.NewTree(nil)}).Generated(pkg)
}
