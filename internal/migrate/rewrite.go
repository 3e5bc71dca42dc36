package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Rule is one thing that is known about code for controller-runtime.
type Rule struct {
	// Name says what the rule is about, in a few words.
	Name string
	// Matches reports whether the rule is for a node.
	Matches func(f *file, n ast.Node) bool
	// Rewrite returns what is written in place of the node, or [removed].
	Rewrite func(f *file, n ast.Node) string
	// Reason says why the code changes, for those who read the report.
	Reason string
}

// removed is what Rewrite returns for a node that goes away, with its line or the comma behind it.
const removed = "\x00"

// Runes that stand in rewritten text for what is decided when the file is done: the name of an import, between the two, and
// where a comment is put before the line.
const (
	importBegin, importEnd = "\x01", "\x02"
	noteBegin, noteEnd     = "\x03", "\x04"
)

// file is a Go file that is being rewritten.
type file struct {
	*program
	pkg    *packages.Package
	info   *types.Info
	syntax *ast.File
	name   string // relative to the project, with slashes
	source []byte // with the line ends of Unix; crlf says that on disk they are those of Windows
	crlf   bool
	// stack are the nodes around the one that is looked at, the outermost first.
	stack []ast.Node
	// wrapped are the nodes that are written inside of something else: for these the rule that did it is done.
	wrapped map[ast.Node]bool
	// owner is the handler for owners of the kind of the controller that is being built, whether they control or not.
	owner string
	// managed is the manager of the controller that is being built, or of the path of the server of webhooks that is registered.
	managed string
	// limits says that what is rewritten is a part of the rate limiter of a controller.
	limits bool
	left   []Left
	uses   int
}

// edit replaces a part of a file, by offsets.
type edit struct {
	from, to int
	text     string
}

// text returns the source of a node with everything in it rewritten.
func (f *file) text(n ast.Node) string { return f.splice(n, f.edits(n)) }

// inside returns the source of a node of which only what is in it is rewritten.
func (f *file) inside(n ast.Node) string { return f.splice(n, f.within(n)) }

func (f *file) offset(pos token.Pos) int { return f.fset.PositionFor(pos, false).Offset }

// raw returns the source of a node as it is.
func (f *file) raw(n ast.Node) string { return string(f.source[f.offset(n.Pos()):f.offset(n.End())]) }

// edits returns the changes of a node: one, if a rule is for it, or those of what is in it.
func (f *file) edits(n ast.Node) []edit {
	for _, rule := range f.rules {
		if !rule.Matches(f, n) {
			continue
		}
		f.stack = append(f.stack, n)
		text := rule.Rewrite(f, n)
		f.stack = f.stack[:len(f.stack)-1]
		if text == removed {
			return []edit{f.removal(n)}
		}
		return []edit{{f.offset(n.Pos()), f.offset(n.End()), text}}
	}
	return f.within(n)
}

func (f *file) within(n ast.Node) []edit {
	f.stack = append(f.stack, n)
	var all []edit
	for _, child := range children(n) {
		all = append(all, f.edits(child)...)
	}
	f.stack = f.stack[:len(f.stack)-1]
	return all
}

// children returns the nodes directly below a node.
func children(n ast.Node) []ast.Node {
	var list []ast.Node
	ast.Inspect(n, func(child ast.Node) bool {
		if child == n {
			return true
		}
		if child != nil {
			list = append(list, child)
		}
		return false
	})
	return list
}

func (f *file) splice(n ast.Node, edits []edit) string {
	return f.spliceRange(f.offset(n.Pos()), f.offset(n.End()), edits)
}

func (f *file) spliceRange(from, to int, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	for _, e := range edits {
		if e.from < from {
			continue // the removal of a neighbour
		}
		out.Write(f.source[from:e.from])
		out.WriteString(e.text)
		from = min(max(e.to, from), to)
	}
	out.Write(f.source[from:to])
	return out.String()
}

// removal takes a node away, with the comma behind it, and with its line if nothing else is on it.
func (f *file) removal(n ast.Node) edit {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	if doc := docOf(n); doc != nil {
		from = f.offset(doc.Pos())
	}
	if to < len(f.source) && f.source[to] == ',' {
		to++
	}
	begin, end := from, to
	for begin > 0 && (f.source[begin-1] == ' ' || f.source[begin-1] == '\t') {
		begin--
	}
	for end < len(f.source) && (f.source[end] == ' ' || f.source[end] == '\t') {
		end++
	}
	if begin > 0 && f.source[begin-1] == '\n' && end < len(f.source) && f.source[end] == '\n' {
		return edit{begin, end + 1, ""}
	}
	return edit{from, end, ""}
}

// docOf returns the comment of a declaration, or nil.
func docOf(n ast.Node) *ast.CommentGroup {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Doc
	case *ast.GenDecl:
		return n.Doc
	}
	return nil
}

// around returns the nth node around the one that is looked at: 0 is the next one, 1 the one around that.
func (f *file) around(n int) ast.Node {
	if at := len(f.stack) - 1 - n; at >= 0 {
		return f.stack[at]
	}
	return nil
}

// wanted returns the type that the place of an expression, which is looked at, asks for: of a parameter, a field, a variable or a result;
// nil where it asks for none.
func (f *file) wanted(e ast.Expr) types.Type {
	switch parent := f.around(0).(type) {
	case *ast.ParenExpr:
		return nil
	case *ast.KeyValueExpr:
		literal, ok := f.around(1).(*ast.CompositeLit)
		if !ok || parent.Value != e {
			return nil
		}
		if ident, ok := parent.Key.(*ast.Ident); ok {
			if field, ok := f.info.Uses[ident].(*types.Var); ok && field.IsField() {
				return field.Type()
			}
		}
		if f.info.TypeOf(literal) == nil {
			return nil // of code that does not compile
		}
		if m, ok := f.info.TypeOf(literal).Underlying().(*types.Map); ok {
			return m.Elem()
		}
	case *ast.CompositeLit:
		i := slices.Index(parent.Elts, e)
		if i < 0 || f.info.TypeOf(parent) == nil {
			return nil
		}
		switch t := f.info.TypeOf(parent).Underlying().(type) {
		case *types.Struct:
			return t.Field(i).Type()
		case *types.Slice:
			return t.Elem()
		case *types.Array:
			return t.Elem()
		}
	case *ast.CallExpr:
		if f.info.Types[parent.Fun].IsType() { // a conversion
			return f.info.TypeOf(parent.Fun)
		}
		if f.info.TypeOf(parent.Fun) == nil {
			return nil
		}
		signature, ok := f.info.TypeOf(parent.Fun).Underlying().(*types.Signature)
		i := slices.Index(parent.Args, e)
		if !ok || i < 0 {
			return nil
		}
		return parameter(signature, i, parent.Ellipsis.IsValid())
	case *ast.AssignStmt:
		if i := slices.Index(parent.Rhs, e); i >= 0 && len(parent.Lhs) == len(parent.Rhs) && parent.Tok == token.ASSIGN {
			return f.info.TypeOf(parent.Lhs[i])
		}
	case *ast.ValueSpec:
		if parent.Type != nil && slices.Contains(parent.Values, e) {
			return f.info.TypeOf(parent.Type)
		}
	case *ast.ReturnStmt:
		results := f.function().Results
		i, at := slices.Index(parent.Results, e), 0
		if results == nil || i < 0 {
			return nil
		}
		for _, result := range results.List {
			if at += max(1, len(result.Names)); i < at {
				return f.info.TypeOf(result.Type)
			}
		}
	}
	return nil
}

// parameter returns the type of the ith argument of a call.
func parameter(signature *types.Signature, i int, ellipsis bool) types.Type {
	last := signature.Params().Len() - 1
	switch {
	case signature.Variadic() && i >= last && !ellipsis:
		return signature.Params().At(last).Type().(*types.Slice).Elem()
	case i <= last:
		return signature.Params().At(i).Type()
	}
	return nil
}

// function returns the type of the function that the node is in, or nil.
func (f *file) function() *ast.FuncType {
	for _, n := range slices.Backward(f.stack) {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n.Type
		case *ast.FuncDecl:
			return n.Type
		}
	}
	return nil
}

// leave notes that a node has no rule. It returns the mark of the comment that says so, to be put into the text before the node.
func (f *file) leave(n ast.Node, reason, snippet string) string {
	f.left = append(f.left, Left{
		File: f.name, Line: f.fset.PositionFor(n.Pos(), false).Line, Code: oneLine(f.raw(n)), Reason: reason, Snippet: snippet,
	})
	return noteBegin + reason + noteEnd
}

// note notes that something is worth a look although it was rewritten.
func (f *file) note(n ast.Node, reason string) {
	f.left = append(f.left, Left{File: f.name, Line: f.fset.PositionFor(n.Pos(), false).Line, Code: oneLine(f.raw(n)), Reason: reason, Rewritten: true})
}

func oneLine(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if len(line) > 100 {
		line, more = line[:100], true
	}
	if more {
		line += " ..."
	}
	return strings.TrimSpace(line)
}

// rewrite returns the new text of the file, formatted; the old one if nothing changes.
func (f *file) rewrite() ([]byte, error) {
	f.uses = f.countUses()
	edits := f.edits(f.syntax)
	if len(edits) == 0 {
		return f.source, nil
	}
	out, err := f.assemble(edits)
	if err == nil {
		return out, nil
	}
	edits, found := f.withoutBroken(edits)
	if !found {
		return nil, err
	}
	return f.assemble(edits)
}

// assemble returns the text of the file with edits, formatted.
func (f *file) assemble(edits []edit) ([]byte, error) {
	text, err := f.finish(putNotes(f.spliceRange(0, len(f.source), edits)))
	if err != nil {
		return nil, err
	}
	out, err := format.Source([]byte(withoutUnused(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: what was rewritten is no Go: %w", f.name, err)
	}
	return out, nil
}

// withoutBroken leaves the declarations as they were of which the edits make what is no Go, so that the others are rewritten, and reports
// whether there are some.
func (f *file) withoutBroken(edits []edit) (kept []edit, found bool) {
	for _, decl := range f.syntax.Decls {
		from, to := f.offset(decl.Pos()), f.offset(decl.End())
		inside := func(e edit) bool { return from <= e.from && e.to <= to }
		only := slices.DeleteFunc(slices.Clone(edits), func(e edit) bool { return !inside(e) })
		if _, err := parsePlain(f.name, f.spliceRange(0, len(f.source), only)); err == nil {
			continue
		}
		found = true
		edits = slices.DeleteFunc(slices.Clone(edits), inside)
		edits = append(edits, edit{from, from, f.leave(decl, "a rule has made of it what is no Go, and so it is left as it was: this is a defect of kctrl", "// what docs/from-controller-runtime.md has in its right column")})
	}
	return edits, found
}

// parsePlain parses rewritten text whose imports have no names yet.
func parsePlain(name, text string) (*ast.File, error) {
	for _, importPath := range placeholders(text) {
		text = strings.ReplaceAll(text, importBegin+importPath+importEnd, "kctrlmigrate")
	}
	return parser.ParseFile(token.NewFileSet(), name, putNotes(text), parser.ParseComments) // with what names are resolved to
}

// countUses counts the references to what controller-runtime and the libraries around it declare.
func (f *file) countUses() int {
	n := 0
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		if ident, ok := node.(*ast.Ident); ok {
			if object := f.info.Uses[ident]; object != nil && object.Pkg() != nil && isPeer(object.Pkg().Path()) {
				if _, isImport := object.(*types.PkgName); !isImport {
					n++
				}
			}
		}
		return true
	})
	return n
}
