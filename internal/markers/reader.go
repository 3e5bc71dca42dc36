package markers

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Marker is one marker in a file, with its value and the declaration that it describes.
type Marker struct {
	Text string    // without slashes, starting with "+"
	Pos  token.Pos // position of the "+"

	// Definition is the definition of the marker for its target, or for another target if it is misplaced. It is nil for
	// unknown markers.
	Definition *markers.Definition
	Value      any   // parsed arguments; nil without a definition or with invalid arguments
	Err        error // error about the arguments

	Target markers.TargetType
	// Node is the *ast.File, *ast.TypeSpec or *ast.Field that the marker is attached to, or nil where no generator
	// reads markers.
	Node   ast.Node
	Owner  *ast.TypeSpec // the type that it is on or in; nil outside of types
	Placed Placement
	Next   string // declaration after a marker that is not attached to it: "type X", "field F", or ""

	comment *ast.Comment
}

// Name returns the marker without its value.
func (m Marker) Name() string { return nameIn(m.Text) }

// Counts reports whether generators read the marker, even if its arguments are invalid.
func (m Marker) Counts() bool { return m.Definition != nil && m.Placed == PlacedRight }

// IsElsewhere reports whether the marker is about the whole project, and is in a place that controller-gen does not
// read or at a declaration that it does not describe.
func (m Marker) IsElsewhere() bool {
	misplaced := m.Placed != PlacedRight && m.Placed != PlacedLineEnd && m.Placed != PlacedBlock
	return misplaced && m.Definition != nil && RulesOf(m.Definition.Name).Anywhere
}

// Blank removes the marker from the syntax tree that it was read from, so that later readers of comments ignore it.
func (m Marker) Blank() { m.comment.Text = "//" + strings.Repeat(" ", len(m.comment.Text)-len("//")) }

func nameIn(text string) string {
	name, _, _ := strings.Cut(text, "=")
	return strings.TrimRight(name, ": ")
}

// Placement is the kind of place where a marker is written: for ignored markers, a text that follows "is ignored ".
type Placement string

// The placements.
const (
	PlacedRight       Placement = ""                 // read by controller-gen, at a declaration that the marker describes
	PlacedWrong       Placement = "at a declaration" // read by controller-gen, but the marker does not describe it
	PlacedFunc        Placement = "in the comment of a function"
	PlacedBody        Placement = "inside a function"
	PlacedValue       Placement = "in the comment of a constant, variable or import" // or among them
	PlacedGroup       Placement = "in the comment of a group of types"
	PlacedLineEnd     Placement = "at the end of a line" // after code
	PlacedAfterFields Placement = "after the last field of a struct"
	PlacedDetached    Placement = "this far from its declaration" // another comment is between them
	PlacedBlock       Placement = "in a /* comment */"
)

// Line returns the marker in a line of a comment, without the comment delimiters. A marker starts the line with "+".
// Sentences that mention a marker are not markers, and neither are markers disabled by a space after the "+".
func Line(line string) (text string, ok bool) {
	text = strings.TrimSpace(line)
	return text, strings.HasPrefix(text, "+")
}

// markersIn returns the markers in a comment: at most one in a line comment, and at most one per line of a block
// comment.
func markersIn(comment *ast.Comment) []Marker {
	if rest, ok := strings.CutPrefix(comment.Text, "//"); ok {
		text, isMarker := Line(rest)
		if !isMarker {
			return nil
		}
		return []Marker{{Text: text, Pos: comment.Pos() + token.Pos(strings.IndexByte(comment.Text, '+')), comment: comment}}
	}
	var found []Marker
	offset := 0
	for line := range strings.Lines(comment.Text) {
		if text, ok := Line(strings.TrimLeft(strings.TrimSuffix(strings.TrimSpace(line), "*/"), "/* \t")); ok {
			found = append(found, Marker{
				Text: text, Pos: comment.Pos() + token.Pos(offset+strings.IndexByte(line, '+')), Placed: PlacedBlock,
				comment: comment,
			})
		}
		offset += len(line)
	}
	return found
}

// reader determines what the markers of one file describe, as controller-gen does. A marker describes the type or field
// whose doc comment contains it, or whose doc comment is the next comment. Markers in other comments outside of
// declarations describe the package.
type reader struct {
	registry *Registry
	file     *ast.File
	line     func(token.Pos) int
	found    []Marker
}

// Read returns all markers of a file, in source order.
func (r *Registry) Read(fset *token.FileSet, file *ast.File) []Marker {
	p := &reader{registry: r, file: file, line: func(pos token.Pos) int { return fset.PositionFor(pos, false).Line }}
	for i, group := range file.Comments {
		if slices.ContainsFunc(group.List, func(comment *ast.Comment) bool { return len(markersIn(comment)) > 0 }) {
			p.place(i)
		}
	}
	return p.found
}

func (p *reader) add(group *ast.CommentGroup, like Marker) {
	for _, comment := range group.List {
		for _, m := range markersIn(comment) {
			if m.Placed == PlacedRight {
				m.Target, m.Node, m.Owner, m.Placed, m.Next = like.Target, like.Node, like.Owner, like.Placed, like.Next
			}
			p.record(m)
		}
	}
}

// addToType records the markers of a comment group that describe a type.
func (p *reader) addToType(group *ast.CommentGroup, spec *ast.TypeSpec) {
	p.add(group, Marker{Target: markers.DescribesType, Node: spec, Owner: spec})
}

func (p *reader) record(m Marker) {
	m.Definition = p.registry.Definition(m.Text)
	if m.Definition != nil && m.Node != nil {
		here := p.registry.lookup(m.Text, m.Target)
		if here == nil {
			m.Placed = PlacedWrong
		} else {
			m.Definition = here
		}
	}
	if m.Definition != nil {
		if m.Value, m.Err = m.Definition.Parse(m.Text); m.Err != nil {
			m.Value = nil
		}
	}
	p.found = append(p.found, m)
}

// lost records the ignored markers of a comment group. It omits the markers of a field that is commented out.
func (p *reader) lost(group *ast.CommentGroup, s Placement, owner *ast.TypeSpec, next string) {
	if owner != nil && strings.Contains(group.Text(), "`json:\"") {
		return
	}
	p.add(group, Marker{Placed: s, Owner: owner, Next: next})
}

// place records the markers of the comment group with an index.
func (p *reader) place(index int) {
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
		p.add(group, Marker{Target: markers.DescribesPackage, Node: p.file})
	case decl != nil && decl.Pos() <= group.Pos():
		p.inside(index, decl)
	case at > 0 && p.endsLine(group, decls[at-1]):
		p.lost(group, PlacedLineEnd, ownerOf(decls[at-1]), "")
	case decl != nil && docOf(decl) == group:
		p.inDoc(group, decl)
	default:
		p.free(index, singleType(decl))
	}
}

// endsLine reports whether a comment is on the last line of a declaration of types, constants or variables.
func (p *reader) endsLine(group *ast.CommentGroup, before ast.Decl) bool {
	general, ok := before.(*ast.GenDecl)
	return ok && p.line(general.End()) == p.line(group.Pos())
}

// inDoc records the markers in the doc comment of a declaration.
func (p *reader) inDoc(group *ast.CommentGroup, decl ast.Decl) {
	if spec := singleType(decl); spec != nil {
		p.addToType(group, spec)
		return
	}
	place := PlacedFunc
	if general, ok := decl.(*ast.GenDecl); ok && general.Tok == token.TYPE {
		place = PlacedGroup
	} else if ok {
		place = PlacedValue
	}
	p.lost(group, place, nil, "")
}

// free records the markers of a comment that belongs to no declaration. next is the following type if it has a
// declaration of its own, or nil.
func (p *reader) free(index int, next *ast.TypeSpec) {
	alone := Marker{Target: markers.DescribesPackage, Node: p.file}
	switch {
	case next == nil:
		p.add(p.file.Comments[index], alone)
	case p.closest(index, next):
		p.aboveType(p.file.Comments[index], next)
	default:
		alone.Next = "type " + next.Name.Name
		p.add(p.file.Comments[index], alone)
	}
}

// aboveType records the markers of the comment above the doc comment of a type. They describe the type, except markers
// that only packages can have.
func (p *reader) aboveType(group *ast.CommentGroup, spec *ast.TypeSpec) {
	for _, comment := range group.List {
		for _, m := range markersIn(comment) {
			if m.Placed == PlacedRight {
				m.Target, m.Node, m.Owner = markers.DescribesType, spec, spec
				if p.registry.Lookup(m.Text, markers.DescribesType) == nil &&
					p.registry.Lookup(m.Text, markers.DescribesPackage) != nil {
					m.Target, m.Node, m.Owner = markers.DescribesPackage, p.file, nil
				}
			}
			p.record(m)
		}
	}
}

// closest reports whether the comment with an index is the last one before a type and its doc comment.
func (p *reader) closest(index int, spec *ast.TypeSpec) bool {
	doc := spec.Doc
	for _, decl := range p.file.Decls {
		if singleType(decl) == spec {
			doc = docOf(decl)
		}
	}
	return p.isLast(index, doc, spec.Pos())
}

// isLast reports whether no other comment than doc is between the comment with an index and pos.
func (p *reader) isLast(index int, doc *ast.CommentGroup, pos token.Pos) bool {
	next := p.file.Comments[index+1:]
	if len(next) > 0 && next[0] == doc {
		next = next[1:]
	}
	return len(next) == 0 || next[0].Pos() > pos
}

// inside records the markers of a comment in a declaration.
func (p *reader) inside(index int, decl ast.Decl) {
	group := p.file.Comments[index]
	general, ok := decl.(*ast.GenDecl)
	if !ok {
		p.lost(group, PlacedBody, nil, "")
		return
	}
	if general.Tok != token.TYPE {
		p.lost(group, PlacedValue, nil, "")
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
			p.lost(group, PlacedLineEnd, before, "")
		case spec.Doc == group:
			p.addToType(group, spec)
		case p.closest(index, spec):
			p.aboveType(group, spec)
		default:
			p.lost(group, PlacedDetached, spec, "type "+spec.Name.Name)
		}
		return
	}
	if before != nil && p.line(before.End()) == p.line(group.Pos()) {
		p.lost(group, PlacedLineEnd, before, "")
		return
	}
	p.lost(group, PlacedGroup, nil, "")
}

// insideType records the markers of a comment among the fields of a type.
func (p *reader) insideType(index int, spec *ast.TypeSpec) {
	group := p.file.Comments[index]
	fields, line := innermost(spec.Type, group.Pos()), p.line(group.Pos())
	if fields == nil || line == p.line(fields.Opening) {
		p.lost(group, PlacedLineEnd, spec, "")
		return
	}
	for _, field := range fields.List {
		switch {
		case field.End() <= group.Pos() && p.line(field.End()) == line:
			p.lost(group, PlacedLineEnd, spec, "")
		case field.Pos() < group.Pos():
			continue
		case field.Doc == group || p.isLast(index, field.Doc, field.Pos()):
			p.add(group, Marker{Target: markers.DescribesField, Node: field, Owner: spec})
		default:
			p.lost(group, PlacedDetached, spec, "field "+FieldName(field))
		}
		return
	}
	p.lost(group, PlacedAfterFields, spec, "")
}

// innermost returns the innermost field list around pos.
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

// FieldName returns the name of a field, which is the name of its type for an embedded field.
func FieldName(field *ast.Field) string {
	if len(field.Names) > 0 {
		return field.Names[0].Name
	}
	return TypeName(field.Type)
}

// TypeName returns the name of a type without its package, pointer and type arguments, or "".
func TypeName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return TypeName(expr.X)
	case *ast.ParenExpr:
		return TypeName(expr.X)
	case *ast.IndexExpr:
		return TypeName(expr.X)
	case *ast.IndexListExpr:
		return TypeName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel.Name
	case *ast.Ident:
		return expr.Name
	}
	return ""
}

// EmbeddedTypes returns the names of the types that are embedded in a struct.
func EmbeddedTypes(spec *ast.TypeSpec) map[string]bool {
	names := map[string]bool{}
	if structType, ok := spec.Type.(*ast.StructType); ok {
		for _, field := range structType.Fields.List {
			if field.Names == nil {
				names[TypeName(field.Type)] = true
			}
		}
	}
	return names
}
