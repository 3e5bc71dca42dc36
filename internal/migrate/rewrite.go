package migrate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
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

// fill replaces {name} in text by the name of an import: of a package of the runtime, or of one in importNicknames.
func fill(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			out.WriteString(text)
			return out.String()
		}
		out.WriteString(before)
		if name == "" || strings.ContainsAny(name, " \n,:") {
			out.WriteString("{" + name + "}")
		} else {
			out.WriteString(imported(pathOf(name)))
		}
		text = after
	}
}

// imported stands for the name by which a file knows a package.
func imported(importPath string) string { return importBegin + importPath + importEnd }

// importNicknames are the packages outside of the runtime that rewritten code uses.
var importNicknames = map[string]string{
	"slog": "log/slog", "http": "net/http", "context": "context", "errors": "errors", "fmt": "fmt", "net": "net", "strconv": "strconv", "time": "time",
	"logr": "github.com/go-logr/logr", "runtimepkg": "k8s.io/apimachinery/pkg/runtime", "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1",
	"prometheus": "github.com/prometheus/client_golang/prometheus", "promhttp": "github.com/prometheus/client_golang/prometheus/promhttp",
	"schema": "k8s.io/apimachinery/pkg/runtime/schema", "clientgoscheme": "k8s.io/client-go/kubernetes/scheme", "reflect": "reflect",
	"clientworkqueue": "k8s.io/client-go/util/workqueue",
}

func pathOf(name string) string {
	if known, ok := importNicknames[name]; ok {
		return known
	}
	return runtimePath + name
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
		edits = append(edits, edit{from, from, f.leave(decl, "a rule has made of it what is no Go, and so it is left as it was: this is a defect of kctrl", "")})
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

// Mark begins the comments above what could not be rewritten.
const Mark = "// kctrl:migrate: "

// putNotes puts each note on a line of its own before the one that it is in.
func putNotes(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		var seen []string
		for {
			before, rest, found := strings.Cut(line, noteBegin)
			if !found {
				break
			}
			reason, after, _ := strings.Cut(rest, noteEnd)
			line = before + after
			if !slices.Contains(seen, reason) {
				seen = append(seen, reason)
				out.WriteString(indent + Mark + reason + "\n")
			}
		}
		out.WriteString(line)
	}
	return out.String()
}

// finish gives the imports their names, and the file its import lines.
func (f *file) finish(text string) (string, error) {
	parsed, err := parsePlain(f.name, text)
	if err != nil {
		return "", fmt.Errorf("%s: what was rewritten is no Go: %w", f.name, err)
	}
	used := usedNames(parsed)
	gone := map[string]bool{} // import paths that nothing uses any more
	taken := f.declaredNames()
	names := map[string]string{} // of the imports that stay, by path
	old := map[string]string{}   // of all, by path
	for _, spec := range f.syntax.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		name := f.importName(spec)
		old[importPath] = name
		if name == "_" || name == "." && !isPeer(importPath) || used[name] {
			names[importPath] = name
			taken[name] = true
		} else {
			gone[importPath] = true
		}
	}
	var added []string
	for _, importPath := range placeholders(text) {
		if _, known := names[importPath]; !known {
			name := f.chooseName(importPath, old, gone, taken)
			names[importPath], taken[name] = name, true
			added = append(added, importLine(importPath, name))
		}
	}
	hidden, again := f.hidden(text, names), map[string]string{}
	text, _ = spell(text, func(i int, importPath string) string {
		if !hidden[i] {
			return names[importPath]
		}
		if again[importPath] == "" {
			name := "kctrl" + path.Base(importPath)
			for taken[name] {
				name = "kctrl" + name
			}
			again[importPath], taken[name] = name, true
			added = append(added, importLine(importPath, name))
		}
		return again[importPath]
	})
	return replaceImports(text, gone, added)
}

// placeholders returns the import paths that a text has placeholders for, in order.
func placeholders(text string) []string {
	found := map[string]bool{}
	for {
		_, rest, ok := strings.Cut(text, importBegin)
		if !ok {
			return slices.Sorted(maps.Keys(found))
		}
		importPath, after, _ := strings.Cut(rest, importEnd)
		found[importPath] = true
		text = after
	}
}

// spell writes names in the places of a text that are for them, and returns the offsets of these names.
func spell(text string, name func(i int, importPath string) string) (spelled string, offsets []int) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, importBegin)
		out.WriteString(before)
		if !found {
			return out.String(), offsets
		}
		importPath, after, _ := strings.Cut(rest, importEnd)
		offsets = append(offsets, out.Len())
		out.WriteString(name(len(offsets)-1, importPath))
		text = after
	}
}

// hidden returns which of the names of imports in a text mean something else where they are: a parameter or variable of that name.
func (f *file) hidden(text string, names map[string]string) map[int]bool {
	spelled, offsets := spell(text, func(_ int, importPath string) string { return names[importPath] })
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, f.name, spelled, 0) // with what names are resolved to
	if err != nil {
		return nil // finish says so
	}
	hidden := map[int]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if ident, ok := n.(*ast.Ident); ok && ident.Obj != nil {
			if i, found := slices.BinarySearch(offsets, set.PositionFor(ident.Pos(), false).Offset); found {
				hidden[i] = true
			}
		}
		return true
	})
	return hidden
}

// usedNames returns the names before a dot that nothing in the file declares: those of imports.
func usedNames(parsed *ast.File) map[string]bool {
	used := map[string]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if ident, ok := selector.X.(*ast.Ident); ok && ident.Obj == nil {
				used[ident.Name] = true
			}
		}
		return true
	})
	return used
}

// declaredNames are the names that the file or its package declares anywhere: an import of such a name could be hidden.
func (f *file) declaredNames() map[string]bool {
	taken := map[string]bool{}
	for _, name := range f.pkg.Types.Scope().Names() {
		taken[name] = true
	}
	for ident, object := range f.info.Defs {
		if object == nil || f.fset.File(ident.Pos()) != f.fset.File(f.syntax.Pos()) {
			continue
		}
		if v, ok := object.(*types.Var); ok && v.IsField() {
			continue
		}
		if _, ok := object.(*types.PkgName); ok {
			continue
		}
		if fn, ok := object.(*types.Func); ok && fn.Signature().Recv() != nil {
			continue
		}
		taken[ident.Name] = true
	}
	return taken
}

func (f *file) importName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	importPath, _ := strconv.Unquote(spec.Path.Value)
	if p := f.pkg.Imports[importPath]; p != nil && p.Name != "" {
		return p.Name
	}
	return path.Base(importPath)
}

// chooseName picks the name of a new import: that of the import whose place it takes, else its own, else one with a prefix.
func (f *file) chooseName(importPath string, old map[string]string, gone, taken map[string]bool) string {
	for _, from := range successors[strings.TrimPrefix(importPath, runtimePath)] {
		if name := old[from]; name != "" && gone[from] && name != "_" && name != "." && !slices.Contains(slices.Collect(maps.Values(pathsOf(old, gone))), name) {
			return name
		}
	}
	base := path.Base(importPath)
	for nickname, known := range importNicknames {
		if known == importPath {
			base = nickname
		}
	}
	if base == "runtimepkg" {
		base = "runtime"
	}
	if importPath == runtimePath+"log" && taken[base] && !taken["logf"] {
		return "logf"
	}
	for taken[base] {
		base = "kctrl" + base
	}
	return base
}

// pathsOf returns the imports that stay.
func pathsOf(old map[string]string, gone map[string]bool) map[string]string {
	stay := map[string]string{}
	for importPath, name := range old {
		if !gone[importPath] {
			stay[importPath] = name
		}
	}
	return stay
}

func importLine(importPath, name string) string {
	if name == path.Base(importPath) {
		return strconv.Quote(importPath)
	}
	return name + " " + strconv.Quote(importPath)
}

// replaceImports takes import lines away and puts others in the place of the first one of controller-runtime.
func replaceImports(text string, gone map[string]bool, added []string) (string, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", text, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return "", err
	}
	helper := &file{program: &program{fset: set}, source: []byte(text)}
	edits, added := besideStd(helper, parsed, added)
	place := -1
	for _, spec := range parsed.Imports {
		importPath, _ := strconv.Unquote(spec.Path.Value)
		if !gone[importPath] {
			continue
		}
		e := helper.removal(spec)
		if place < 0 && isPeer(importPath) && hasParens(parsed, spec) {
			place = len(edits)
			e.text = strings.Join(added, "\n") + "\n"
		}
		edits = append(edits, e)
	}
	if place < 0 && len(added) > 0 {
		block := "\n\nimport (\n" + strings.Join(added, "\n") + "\n)\n"
		at := helper.offset(parsed.Name.End())
		for _, decl := range parsed.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.IMPORT {
				continue
			}
			if d.Rparen.IsValid() {
				at, block = helper.offset(d.Rparen), "\n"+strings.Join(added, "\n")+"\n"
				break
			}
			at = helper.offset(d.End())
		}
		edits = append(edits, edit{at, at, block})
	}
	out := helper.spliceRange(0, len(text), edits)
	return dropEmptyImports(out), nil
}

// besideStd puts those of the import lines that are of the standard library behind the last one that is there, and returns the others.
func besideStd(f *file, parsed *ast.File, added []string) (edits []edit, others []string) {
	var last *ast.ImportSpec
	for _, spec := range parsed.Imports {
		if isStd(importPathOf(spec)) && hasParens(parsed, spec) {
			last = spec
		}
	}
	for _, line := range added {
		name := line[strings.Index(line, `"`):]
		if importPath, _ := strconv.Unquote(name); last == nil || !isStd(importPath) {
			others = append(others, line)
			continue
		}
		at := f.offset(last.Pos())
		for at > 0 && (f.source[at-1] == ' ' || f.source[at-1] == '\t') {
			at-- // not within the line, which may go
		}
		edits = append(edits, edit{at, at, line + "\n"}) // gofmt sorts
	}
	return edits, others
}

// isStd reports whether a package is of the standard library.
func isStd(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// hasParens reports whether an import is one of several between parentheses.
func hasParens(parsed *ast.File, spec *ast.ImportSpec) bool {
	return slices.ContainsFunc(parsed.Decls, func(decl ast.Decl) bool {
		d, ok := decl.(*ast.GenDecl)
		return ok && d.Lparen.IsValid() && d.Pos() <= spec.Pos() && spec.End() <= d.End()
	})
}

// dropEmptyImports takes away an import keyword whose specification is gone.
func dropEmptyImports(text string) string {
	lines := strings.SplitAfter(text, "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.TrimSpace(line) == "import" })
	return strings.Replace(strings.Join(lines, ""), "import ()\n", "", 1)
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
