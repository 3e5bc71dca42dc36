package markers

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// place is a marker and what it describes.
type place struct {
	marker
	target markers.TargetType
	node   ast.Node      // the *ast.File, *ast.TypeSpec or *ast.Field that it describes; nil if it is ignored
	owner  *ast.TypeSpec // the type that it stands on or in; nil outside of types
	spot   spot          // why it is ignored, or spotCounts
	next   string        // what follows a marker that does not describe it: "type X", "field F", or ""
}

// placer finds what the markers of one file describe, as controller-gen would. A marker describes the type or field
// whose doc comment it is in, or whose doc comment follows that of the marker with no other comment in between. What
// stands free outside of declarations describes the package.
type placer struct {
	registry *Registry
	file     *ast.File
	line     func(token.Pos) int
	found    []place
}

// placesIn returns the places of all markers of a file, in their order.
func placesIn(registry *Registry, fset *token.FileSet, file *ast.File) []place {
	p := &placer{registry: registry, file: file, line: func(pos token.Pos) int { return fset.PositionFor(pos, false).Line }}
	for i, group := range file.Comments {
		if hasMarker(group) {
			p.place(i)
		}
	}
	return p.found
}

func hasMarker(group *ast.CommentGroup) bool {
	return slices.ContainsFunc(group.List, func(comment *ast.Comment) bool {
		_, ok := parseMarker(comment)
		return ok
	})
}

// add records the markers of a comment group.
func (p *placer) add(group *ast.CommentGroup, like place) {
	for _, comment := range group.List {
		m, ok := parseMarker(comment)
		if !ok {
			continue
		}
		like.marker = m
		p.found = append(p.found, like)
	}
}

// lost records the markers of a comment group that are ignored. With a field that is commented out go its markers.
func (p *placer) lost(group *ast.CommentGroup, s spot, owner *ast.TypeSpec, next string) {
	if owner != nil && strings.Contains(group.Text(), "`json:\"") {
		return
	}
	p.add(group, place{spot: s, owner: owner, next: next})
}

// place records the markers of the comment group with the given index.
func (p *placer) place(index int) {
	group := p.file.Comments[index]
	decls := p.file.Decls
	at, _ := slices.BinarySearchFunc(decls, group.Pos(), func(decl ast.Decl, pos token.Pos) int {
		if decl.End() <= pos {
			return -1
		}
		return 1
	})
	var decl ast.Decl
	if at < len(decls) {
		decl = decls[at]
	}
	switch {
	case group.Pos() < p.file.Package:
		p.add(group, place{target: markers.DescribesPackage, node: p.file})
	case decl != nil && decl.Pos() <= group.Pos():
		p.inside(index, decl)
	case at > 0 && p.endsLine(group, decls[at-1]):
		p.lost(group, spotLineEnd, ownerOf(decls[at-1]), "")
	case decl != nil && docOf(decl) == group:
		p.inDoc(group, decl)
	default:
		p.free(index, singleType(decl))
	}
}

// endsLine reports whether a comment stands behind the last line of a declaration of types, constants or variables.
func (p *placer) endsLine(group *ast.CommentGroup, before ast.Decl) bool {
	general, ok := before.(*ast.GenDecl)
	return ok && p.line(general.End()) == p.line(group.Pos())
}

// inDoc records the markers in the doc comment of a declaration.
func (p *placer) inDoc(group *ast.CommentGroup, decl ast.Decl) {
	if spec := singleType(decl); spec != nil {
		p.add(group, place{target: markers.DescribesType, node: spec, owner: spec})
		return
	}
	general, ok := decl.(*ast.GenDecl)
	switch {
	case !ok:
		p.lost(group, spotFunc, nil, "")
	case general.Tok == token.TYPE:
		p.lost(group, spotGroup, nil, "")
	default:
		p.lost(group, spotValue, nil, "")
	}
}

// free records the markers of a comment that belongs to no declaration. next is the type that follows, if one does and
// is declared alone.
func (p *placer) free(index int, next *ast.TypeSpec) {
	group := p.file.Comments[index]
	if next == nil || !p.closest(index, next) {
		alone := place{target: markers.DescribesPackage, node: p.file}
		if next != nil {
			alone.next = "type " + next.Name.Name
		}
		p.add(group, alone)
		return
	}
	p.aboveType(group, next)
}

// aboveType records the markers of the comment above that of a type. They describe the type, except those that only
// packages have.
func (p *placer) aboveType(group *ast.CommentGroup, spec *ast.TypeSpec) {
	for _, comment := range group.List {
		m, ok := parseMarker(comment)
		if !ok {
			continue
		}
		at := place{marker: m, target: markers.DescribesType, node: spec, owner: spec}
		if p.registry.Lookup(m.text, markers.DescribesType) == nil && p.registry.Lookup(m.text, markers.DescribesPackage) != nil {
			at = place{marker: m, target: markers.DescribesPackage, node: p.file}
		}
		p.found = append(p.found, at)
	}
}

// closest reports whether no comment stands between that with the given index and a type with its doc comment.
func (p *placer) closest(index int, spec *ast.TypeSpec) bool {
	if index+1 == len(p.file.Comments) {
		return true
	}
	next := p.file.Comments[index+1]
	if next.Pos() > spec.Pos() {
		return true
	}
	return p.isDocOfType(next, spec) && (index+2 == len(p.file.Comments) || p.file.Comments[index+2].Pos() > spec.Pos())
}

func (p *placer) isDocOfType(group *ast.CommentGroup, spec *ast.TypeSpec) bool {
	if spec.Doc == group {
		return true
	}
	return slices.ContainsFunc(p.file.Decls, func(decl ast.Decl) bool { return singleType(decl) == spec && docOf(decl) == group })
}

// inside records the markers of a comment in a declaration.
func (p *placer) inside(index int, decl ast.Decl) {
	group := p.file.Comments[index]
	general, ok := decl.(*ast.GenDecl)
	switch {
	case !ok:
		p.lost(group, spotBody, nil, "")
		return
	case general.Tok != token.TYPE:
		p.lost(group, spotValue, nil, "")
		return
	}
	var before *ast.TypeSpec
	for _, spec := range general.Specs {
		spec := spec.(*ast.TypeSpec)
		switch {
		case spec.End() <= group.Pos():
			before = spec
			continue
		case spec.Pos() <= group.Pos():
			p.insideType(index, spec)
		case before != nil && p.line(before.End()) == p.line(group.Pos()):
			p.lost(group, spotLineEnd, before, "")
		case spec.Doc == group:
			p.add(group, place{target: markers.DescribesType, node: spec, owner: spec})
		case p.closest(index, spec):
			p.aboveType(group, spec)
		default:
			p.lost(group, spotDetached, spec, "type "+spec.Name.Name)
		}
		return
	}
	if before != nil && p.line(before.End()) == p.line(group.Pos()) {
		p.lost(group, spotLineEnd, before, "")
		return
	}
	p.lost(group, spotGroup, nil, "")
}

// insideType records the markers of a comment among the fields of a type.
func (p *placer) insideType(index int, spec *ast.TypeSpec) {
	group := p.file.Comments[index]
	fields := innermost(spec.Type, group.Pos())
	if fields == nil {
		p.lost(group, spotLineEnd, spec, "")
		return
	}
	line := p.line(group.Pos())
	if line == p.line(fields.Opening) {
		p.lost(group, spotLineEnd, spec, "")
		return
	}
	for _, field := range fields.List {
		switch {
		case field.End() <= group.Pos() && p.line(field.End()) == line:
			p.lost(group, spotLineEnd, spec, "")
		case field.Pos() < group.Pos():
			continue
		case field.Doc == group || p.closestToField(index, field):
			p.add(group, place{target: markers.DescribesField, node: field, owner: spec})
		default:
			p.lost(group, spotDetached, spec, "field "+fieldName(field))
		}
		return
	}
	p.lost(group, spotAfterFields, spec, "")
}

// closestToField reports whether no comment stands between that with the given index and a field with its doc comment.
func (p *placer) closestToField(index int, field *ast.Field) bool {
	next := p.file.Comments[index+1:]
	if len(next) > 0 && next[0] == field.Doc {
		next = next[1:]
	}
	return len(next) == 0 || next[0].Pos() > field.Pos()
}

// innermost returns the field list around pos that has no other around pos inside.
func innermost(expr ast.Expr, pos token.Pos) *ast.FieldList {
	var found *ast.FieldList
	ast.Inspect(expr, func(node ast.Node) bool {
		if node == nil || node.Pos() > pos || node.End() <= pos {
			return false
		}
		if list, ok := node.(*ast.FieldList); ok {
			found = list
		}
		return true
	})
	return found
}

// singleType returns the type of a declaration without parentheses, or nil.
func singleType(decl ast.Decl) *ast.TypeSpec {
	general, ok := decl.(*ast.GenDecl)
	if !ok || general.Tok != token.TYPE || general.Lparen.IsValid() || len(general.Specs) != 1 {
		return nil
	}
	return general.Specs[0].(*ast.TypeSpec)
}

// ownerOf returns the last type of a declaration, or nil.
func ownerOf(decl ast.Decl) *ast.TypeSpec {
	general, ok := decl.(*ast.GenDecl)
	if !ok || len(general.Specs) == 0 {
		return nil
	}
	spec, _ := general.Specs[len(general.Specs)-1].(*ast.TypeSpec)
	return spec
}

func docOf(decl ast.Decl) *ast.CommentGroup {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		return decl.Doc
	case *ast.GenDecl:
		return decl.Doc
	}
	return nil
}

// fieldName returns the name of a field as it is written: that of its type if it is embedded.
func fieldName(field *ast.Field) string {
	if len(field.Names) > 0 {
		return field.Names[0].Name
	}
	return baseName(field.Type)
}
