package rewrite

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"
)

// withImports returns the text after the edits with names instead of the placeholders. It adds the imports that the
// names need, and removes imports of controller-runtime that are no longer used.
func (f *File) withImports(text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, f.Name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	removed, last := f.unusedImports(syntax)
	taken := f.names(removed)
	names, added := make([]string, len(f.imports)), []string(nil)
	for i, importPath := range f.imports {
		name, declared := f.nameFor(importPath, taken)
		names[i], taken[name] = name, true
		if declared {
			continue
		}
		line := strconv.Quote(importPath)
		if name != path.Base(importPath) {
			line = name + " " + line
		}
		added = append(added, line)
	}
	text = editImports(fset, text, syntax, removed, last, added)
	for i, name := range names {
		text = bytes.ReplaceAll(text, []byte(placeholder(i)), []byte(name))
	}
	return text, nil
}

// unusedImports returns the imports of controller-runtime that are unused after the edits, and the last import of
// controller-runtime. If the file has no such import, last is the last import of the file. syntax is the file after the
// edits.
func (f *File) unusedImports(syntax *ast.File) (unused []*ast.ImportSpec, last *ast.ImportSpec) {
	used := f.usedImports()
	for _, spec := range syntax.Imports {
		if !strings.HasPrefix(pathOf(spec)+"/", ControllerRuntime+"/") {
			continue
		}
		last = spec
		if name := f.localName(spec); name != "_" && name != "." && !used[name] {
			unused = append(unused, spec)
		}
	}
	if last == nil && len(syntax.Imports) > 0 {
		last = syntax.Imports[len(syntax.Imports)-1]
	}
	return unused, last
}

// usedImports returns the names of imports that the text outside the edits uses.
func (f *File) usedImports() map[string]bool {
	used := map[string]bool{}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		ident, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		if _, ok := f.Info.Uses[ident].(*types.PkgName); ok && !f.isReplaced(ident) {
			used[ident.Name] = true
		}
		return true
	})
	return used
}

func (f *File) isReplaced(n ast.Node) bool {
	at := f.offset(n.Pos())
	return slices.ContainsFunc(f.edits, func(e edit) bool { return e.from <= at && at < e.to })
}

// names returns the names that new imports of the file must not have.
func (f *File) names(removed []*ast.ImportSpec) map[string]bool {
	taken := map[string]bool{}
	for _, name := range f.Package.Scope().Names() {
		taken[name] = true
	}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			isRemoved := slices.ContainsFunc(removed, func(r *ast.ImportSpec) bool {
				return pathOf(r) == pathOf(n) && f.localName(r) == f.localName(n)
			})
			if !isRemoved {
				taken[f.localName(n)] = true
			}
			return false
		case *ast.Ident:
			if _, ok := f.Info.Uses[n].(*types.PkgName); !ok {
				taken[n.Name] = true
			}
		}
		return true
	})
	return taken
}

// localName returns the name that an import has in the original file.
func (f *File) localName(spec *ast.ImportSpec) string {
	if spec.Name != nil {
		return spec.Name.Name
	}
	for _, pkg := range f.Package.Imports() {
		if pkg.Path() == pathOf(spec) {
			return pkg.Name()
		}
	}
	return path.Base(pathOf(spec))
}

// nameFor returns the name under which the file imports a package, or a free name if the file does not import it yet.
func (f *File) nameFor(importPath string, taken map[string]bool) (name string, declared bool) {
	for _, spec := range f.Syntax.Imports {
		if name := f.localName(spec); pathOf(spec) == importPath && name != "_" && name != "." {
			return name, true
		}
	}
	base := path.Base(importPath)
	if len(base) > 1 && base[0] == 'v' && base[1] >= '0' && base[1] <= '9' {
		base = path.Base(path.Dir(importPath)) + base
	}
	prefix := "k"
	if strings.HasPrefix(importPath, ControllerRuntime+"/") {
		prefix = "cr"
	}
	for _, name := range []string{base, prefix + base} {
		if !taken[name] {
			return name, false
		}
	}
	for i := 2; ; i++ {
		if name := prefix + base + strconv.Itoa(i); !taken[name] {
			return name, false
		}
	}
}

// editImports removes imports, and adds new imports after the last import of controller-runtime.
func editImports(
	fset *token.FileSet, text []byte, syntax *ast.File, removed []*ast.ImportSpec, last *ast.ImportSpec, added []string,
) []byte {
	i := importEditor{fset, text, syntax}
	var edits []edit
	for _, spec := range removed {
		if spec != last {
			from, to, _ := i.extent(spec)
			edits = append(edits, edit{from, to, ""})
		}
	}
	switch isRemoved := slices.Contains(removed, last); {
	case isRemoved:
		edits = append(edits, i.replace(last, added))
	case len(added) > 0:
		edits = append(edits, i.addAfter(last, added))
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(text[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(text[at:])
	return out.Bytes()
}

// importEditor edits the text of import declarations.
type importEditor struct {
	fset   *token.FileSet
	text   []byte
	syntax *ast.File
}

func (i importEditor) offset(p token.Pos) int { return i.fset.Position(p).Offset }

// isGrouped reports whether an import is in parentheses, and returns the position where the import begins.
func (i importEditor) isGrouped(spec *ast.ImportSpec) (grouped bool, from int) {
	for _, decl := range i.syntax.Decls {
		if decl, ok := decl.(*ast.GenDecl); ok && decl.Pos() <= spec.Pos() && spec.End() <= decl.End() {
			if !decl.Lparen.IsValid() {
				return false, i.offset(decl.Pos())
			}
			return true, i.offset(spec.Pos())
		}
	}
	return true, i.offset(spec.Pos())
}

// extent returns the range of an import: its lines if only a comment follows it on them, or otherwise
// the import with the semicolon that follows it.
func (i importEditor) extent(spec *ast.ImportSpec) (from, to int, wholeLines bool) {
	_, start := i.isGrouped(spec)
	end := i.offset(spec.End())
	blank := func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' }
	before := bytes.TrimRightFunc(i.text[:start], blank)
	rest := i.text[end:]
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	after := bytes.TrimLeftFunc(line, blank)
	if (len(before) == 0 || before[len(before)-1] == '\n') && (len(after) == 0 || bytes.HasPrefix(after, []byte("//"))) {
		return len(before), min(end+len(line)+1, len(i.text)), true
	}
	if len(after) > 0 && after[0] == ';' {
		return start, end + len(line) - len(after) + 1, false
	}
	return start, end, false
}

// replace returns the edit that replaces an import with others, which may be none.
func (i importEditor) replace(spec *ast.ImportSpec, others []string) edit {
	from, to, wholeLines := i.extent(spec)
	grouped, start := i.isGrouped(spec)
	switch {
	case wholeLines && grouped:
		return edit{from, to, importLines(others)}
	case wholeLines:
		return edit{from, to, importDeclaration(others)}
	case len(others) == 0:
		return edit{from, to, ""}
	case grouped:
		return edit{start, i.offset(spec.End()), strings.Join(others, "; ")}
	}
	return edit{start, i.offset(spec.End()), strings.TrimSpace(importDeclaration(others))}
}

// addAfter returns the edit that adds imports after another one.
func (i importEditor) addAfter(spec *ast.ImportSpec, others []string) edit {
	from, to, wholeLines := i.extent(spec)
	grouped, _ := i.isGrouped(spec)
	end := i.offset(spec.End())
	switch {
	case wholeLines && grouped:
		return edit{to, to, importLines(others)}
	case wholeLines:
		kept := strings.TrimPrefix(strings.TrimSpace(string(i.text[from:to])), "import")
		return edit{from, to, importDeclaration(append([]string{strings.TrimSpace(kept)}, others...))}
	case grouped:
		return edit{end, end, "; " + strings.Join(others, "; ")}
	}
	return edit{end, end, "\n" + strings.TrimSpace(importDeclaration(others))}
}

// importLines returns the lines of imports in parentheses.
func importLines(specs []string) string {
	var lines strings.Builder
	for _, spec := range specs {
		lines.WriteString("\t" + spec + "\n")
	}
	return lines.String()
}

// importDeclaration returns an import declaration, or "" if specs is empty.
func importDeclaration(specs []string) string {
	switch len(specs) {
	case 0:
		return ""
	case 1:
		return "import " + specs[0] + "\n"
	}
	return "import (\n" + importLines(specs) + ")\n"
}

func pathOf(spec *ast.ImportSpec) string {
	value, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	return value
}
