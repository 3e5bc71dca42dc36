package object

import (
	"go/ast"
	"go/types"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/markers"
)

// packages knows which packages ask for deep copies. Generated files are not loaded: that a type of another package will
// have methods, its markers tell.
type packages struct {
	roots  []*loader.Package
	loaded map[*types.Package]*loader.Package
	asking map[*types.Package]bool
}

func newPackages(roots []*loader.Package) *packages {
	return &packages{roots: roots, asking: map[*types.Package]bool{}}
}

// generates reports whether a package asks for the deep copies of one of its types.
func (p *packages) generates(object *types.TypeName) bool {
	if !object.Exported() {
		return false
	}
	pkg := p.find(object.Pkg())
	if pkg == nil {
		return false
	}
	switch comment := above(pkg, object); {
	case hasAny(comment, generateMarker+"=false", legacyGenerateMarker+"=false"):
		return false
	case hasAny(comment, generateMarker+"=true", rootMarker+"=true", legacyGenerateMarker+"=true", legacyInterfacesMarker+"="):
		return true
	}
	asks, known := p.asking[object.Pkg()]
	if !known {
		asks = mentions(pkg, generateMarker+"=true", legacyGenerateMarker+"=package")
		p.asking[object.Pkg()] = asks
	}
	return asks
}

// find returns the package of some types.
func (p *packages) find(of *types.Package) *loader.Package {
	if p.loaded[of] == nil {
		p.loaded = markers.Declaring(p.roots)
	}
	return p.loaded[of]
}

// above returns the comments between the declaration of a type and the one before it.
func above(pkg *loader.Package, object *types.TypeName) string {
	for _, file := range pkg.Syntax {
		if object.Pos() < file.FileStart || object.Pos() >= file.FileEnd {
			continue
		}
		from := file.Name.End()
		for _, decl := range file.Decls {
			if decl.End() < object.Pos() {
				from = decl.End()
			}
		}
		var text strings.Builder
		for _, group := range file.Comments {
			if group.Pos() > from && group.End() < object.Pos() {
				writeComment(&text, group)
			}
		}
		return text.String()
	}
	return ""
}

// mentions reports whether a marker is anywhere in the comments of a package.
func mentions(pkg *loader.Package, names ...string) bool {
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			var text strings.Builder
			writeComment(&text, group)
			if hasAny(text.String(), names...) {
				return true
			}
		}
	}
	return false
}

func writeComment(text *strings.Builder, group *ast.CommentGroup) {
	for _, line := range group.List {
		text.WriteString(line.Text)
		text.WriteByte('\n')
	}
}

func hasAny(comment string, names ...string) bool {
	for _, name := range names {
		if strings.Contains(comment, "+"+name) {
			return true
		}
	}
	return false
}
