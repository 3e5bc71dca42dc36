package migrate

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Rewritten text has placeholders for packages, and each file gets the imports that these ask for, under names that are free in it.

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
		switch {
		case name == "_" || name == "." && !isPeer(importPath): // which stay, and are no names for what is added
		case used[name]:
			names[importPath] = name
			taken[name] = true
		default:
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
	return f.replaceImports(text, gone, added)
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

// replaceImports takes import lines away and puts others in the place of the first one of controller-runtime; where there is none, beside
// those that they are most like.
func (f *file) replaceImports(text string, gone map[string]bool, added []string) (string, error) {
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
	if place < 0 {
		var beside []edit
		beside, added = f.besideOthers(helper, parsed, gone, added)
		edits = append(edits, beside...)
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

// besideOthers puts import lines beside those imports of other modules whose paths begin most like theirs, and returns the lines that have
// no such import.
func (f *file) besideOthers(helper *file, parsed *ast.File, gone map[string]bool, added []string) (edits []edit, others []string) {
	for _, line := range added {
		var nearest *ast.ImportSpec
		most := 0
		importPath, _ := strconv.Unquote(line[strings.Index(line, `"`):])
		for _, spec := range parsed.Imports {
			other := importPathOf(spec)
			if gone[other] || isStd(other) || f.isOwn(other) || !hasParens(parsed, spec) {
				continue
			}
			if n := commonElements(importPath, other); n >= most {
				nearest, most = spec, n
			}
		}
		if nearest == nil || isStd(importPath) {
			others = append(others, line)
			continue
		}
		edits = append(edits, beforeLine(helper, nearest, line))
	}
	return edits, others
}

// commonElements returns how many elements two import paths have in common before they differ.
func commonElements(a, b string) int {
	n := 0
	for as, bs := strings.Split(a, "/"), strings.Split(b, "/"); n < min(len(as), len(bs)) && as[n] == bs[n]; {
		n++
	}
	return n
}

// beforeLine puts an import line before another one: gofmt sorts them.
func beforeLine(f *file, spec *ast.ImportSpec, line string) edit {
	at := f.offset(spec.Pos())
	for at > 0 && (f.source[at-1] == ' ' || f.source[at-1] == '\t') {
		at-- // not within the line, which may go
	}
	return edit{at, at, line + "\n"}
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
		edits = append(edits, beforeLine(f, last, line))
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
	"slog": "log/slog", "http": "net/http", "context": "context", "flag": "flag", "errors": "errors", "fmt": "fmt", "net": "net", "strconv": "strconv", "time": "time",
	"logr": "github.com/go-logr/logr", "runtimepkg": "k8s.io/apimachinery/pkg/runtime", "metav1": "k8s.io/apimachinery/pkg/apis/meta/v1",
	"prometheus": "github.com/prometheus/client_golang/prometheus", "promhttp": "github.com/prometheus/client_golang/prometheus/promhttp",
	"schema": "k8s.io/apimachinery/pkg/runtime/schema", "clientgoscheme": "k8s.io/client-go/kubernetes/scheme", "reflect": "reflect",
	"types": "k8s.io/apimachinery/pkg/types", "apiextensionsv1": "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
	"clientworkqueue": "k8s.io/client-go/util/workqueue", "os": "os", "uberzap": "go.uber.org/zap", "zapcore": "go.uber.org/zap/zapcore",
}

func pathOf(name string) string {
	if known, ok := importNicknames[name]; ok {
		return known
	}
	return runtimePath + name
}
