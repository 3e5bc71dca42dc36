package rewrite

import (
	"bytes"
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
	text = editImports(fset, text, removed, last, added)
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
			isRemoved := slices.ContainsFunc(removed, func(r *ast.ImportSpec) bool { return pathOf(r) == pathOf(n) })
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

// editImports removes the lines of imports, and adds new imports after the last import of controller-runtime.
func editImports(
	fset *token.FileSet, text []byte, removed []*ast.ImportSpec, last *ast.ImportSpec, added []string,
) []byte {
	line := func(spec *ast.ImportSpec) (from, to int) {
		from, to = fset.Position(spec.Pos()).Offset, fset.Position(spec.End()).Offset
		for from > 0 && text[from-1] != '\n' {
			from--
		}
		for to < len(text) && text[to] != '\n' {
			to++
		}
		return from, min(to+1, len(text))
	}
	var out bytes.Buffer
	from := 0
	for _, spec := range removed {
		start, end := line(spec)
		if spec == last {
			continue
		}
		out.Write(text[from:start])
		from = end
	}
	start, end := line(last)
	out.Write(text[from:start])
	kept := strings.TrimSuffix(string(text[start:end]), "\n")
	kept, single := strings.CutPrefix(kept, "import ")
	if !slices.Contains(removed, last) {
		added = append([]string{strings.TrimSpace(kept)}, added...)
	}
	if single {
		out.WriteString(importDeclaration(added))
	} else {
		for _, spec := range added {
			out.WriteString("\t" + spec + "\n")
		}
	}
	out.Write(text[end:])
	return out.Bytes()
}

// importDeclaration returns an import declaration, or "" if specs is empty.
func importDeclaration(specs []string) string {
	switch len(specs) {
	case 0:
		return ""
	case 1:
		return "import " + specs[0] + "\n"
	}
	return "import (\n\t" + strings.Join(specs, "\n\t") + "\n)\n"
}

func pathOf(spec *ast.ImportSpec) string {
	value, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return ""
	}
	return value
}
