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

// parserMode is for files of the project; nobody here asks for resolved identifiers.
const parserMode = parser.ParseComments | parser.SkipObjectResolution

// Package is one package of the project: its syntax and its markers, without types.
type Package struct {
	// Package has the syntax, in the order of the file names. Only what needs no types may be asked of it:
	// [Program.Types] has packages for the rest.
	*loader.Package
	folder source.Folder
	files  []string // absolute, as Syntax
	broken []string // generated files that do not parse, absolute
	// cgo are those of the files that use it: what they say of C is taken out of their syntax. A lenient load has none.
	cgo map[string]bool
	ofC []string // the names of the types that were taken out

	// Markers are those of all files, whether they count or not. They are shared: do not modify them.
	Markers []markers.Marker
}

// Has reports whether any of the named markers counts anywhere in the package.
func (p *Package) Has(names ...string) bool {
	return slices.ContainsFunc(p.Markers, func(m markers.Marker) bool {
		return counts(m) && slices.Contains(names, m.Definition.Name)
	})
}

// Values returns what the markers of a name say that count anywhere in the package, in their order.
func (p *Package) Values(name string) []any {
	var values []any
	for _, m := range p.Markers {
		if counts(m) && m.Definition.Name == name {
			values = append(values, m.Value)
		}
	}
	return values
}

// Unreadable reports whether a marker that counts has arguments that are wrong, of those that a registry knows.
func (p *Package) Unreadable(known func(name string) bool) bool {
	return slices.ContainsFunc(p.Markers, func(m markers.Marker) bool {
		return m.Counts() && m.Err != nil && known(m.Definition.Name)
	})
}

// counts reports whether a marker counts and is right.
func counts(m markers.Marker) bool { return m.Err == nil && m.Counts() }

// Only returns a package that has nothing but the named markers of this one, those that count, as markers of the package:
// for generators of controller-tools that are about whole packages.
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
		if err != nil || !bytes.Contains(content, []byte(resolve.DefaultTag)) {
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
