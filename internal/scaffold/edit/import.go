package edit

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// EnsureImport returns src, a Go file, with an import of importPath, and the name by which the file refers to the
// package. An import that is already there is used under the name it has, unless name is given and differs; name empty
// means the package's own name, guessed from importPath. All other bytes stay as they are; the new line goes where gofmt
// keeps it.
//
// A file that does not parse, or that uses the name for something else, is a *diagnostic.Error with the position.
func EnsureImport(src []byte, filename, importPath, name string) (out []byte, local string, err error) {
	f, err := parseGo(src, filename)
	if err != nil {
		return nil, "", err
	}
	for _, spec := range f.file.Imports {
		have := importName(spec)
		if importPathOf(spec) == importPath && have != "." && have != "_" && (name == "" || name == have) {
			return src, have, nil
		}
	}
	local = name
	if local == "" {
		local = packageName(importPath)
	}
	if at := f.declared(local); at.IsValid() {
		return nil, "", f.fail(at, fmt.Sprintf("the name %s is taken, so that %s cannot be imported under it", local, importPath),
			fmt.Sprintf("rename it, or write import %s by hand", importText(local+"2", importPath)))
	}
	at, text := f.importPlace(importPath, importText(name, importPath))
	out, edited, err := f.splice(at, text)
	if err != nil || !edited.imports(importPath, local) {
		return nil, "", f.fail(f.file.Name.Pos(), "no place for a further import",
			"write import "+importText(name, importPath)+" by hand")
	}
	return out, local, nil
}

func (f *goFile) imports(importPath, name string) bool {
	return slices.ContainsFunc(f.file.Imports, func(spec *ast.ImportSpec) bool {
		return importPathOf(spec) == importPath && importName(spec) == name
	})
}

// declared returns where the file declares a name for the whole package or imports something under it.
func (f *goFile) declared(name string) token.Pos {
	for _, spec := range f.file.Imports {
		if importName(spec) == name {
			return spec.Pos()
		}
	}
	conf := types.Config{Importer: stubImporter{}, FakeImportC: true, Error: func(error) {}, IgnoreFuncBodies: true}
	pkg, _ := conf.Check(f.name, f.fset, []*ast.File{f.file}, nil)
	if pkg == nil {
		return token.NoPos
	}
	if obj := pkg.Scope().Lookup(name); obj != nil {
		return obj.Pos()
	}
	return token.NoPos
}

// importPlace returns where a further import goes, and the text to put there.
func (f *goFile) importPlace(importPath, text string) (int, string) {
	var last *ast.GenDecl
	for _, decl := range f.file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			last = d
			if d.Lparen.IsValid() {
				return f.blockPlace(d, importPath, text)
			}
		}
	}
	if last != nil {
		return f.afterStatement(last.End(), f.eol(), "import "+text)
	}
	return f.afterStatement(f.file.Name.End(), f.eol()+f.eol(), "import "+text)
}

// afterStatement puts a declaration on a line of its own behind the statement that ends at end, or behind a semicolon if
// there is more on that line.
func (f *goFile) afterStatement(end token.Pos, eol, decl string) (int, string) {
	from := f.offset(end)
	stop := endOfLine(f.src, from)
	for _, t := range f.tokens(from, stop) {
		switch {
		case t.token == token.COMMENT && !strings.Contains(t.text, "\n"):
		case t.token == token.SEMICOLON:
		default:
			return from, "; " + decl
		}
	}
	return stop, eol + decl
}

// blockPlace returns where an import goes in a parenthesised declaration: into the group of lines it has most in common
// with, in the order of paths, or into a group of its own.
func (f *goFile) blockPlace(d *ast.GenDecl, importPath, text string) (int, string) {
	groups := f.importGroups(d)
	if len(groups) == 0 {
		return f.offset(d.Lparen) + 1, f.eol() + f.indent(d.Pos()) + "\t" + text + f.eolUnless(d)
	}
	var best []*ast.ImportSpec
	score := -1
	for _, group := range groups {
		for _, spec := range group {
			if s := likeness(importPathOf(spec), importPath); s > score {
				best, score = group, s
			}
		}
	}
	if score < 0 && isStandard(importPath) {
		first := groups[0][0]
		at := f.specStart(first)
		return at, text + f.eol() + f.eol() + f.indent(first.Pos())
	}
	if score < 0 {
		group := groups[len(groups)-1]
		spec := group[len(group)-1]
		return f.afterStatement(spec.End(), f.eol()+f.eol()+f.indent(spec.Pos()), text)
	}
	for _, spec := range best {
		if importPathOf(spec) > importPath {
			if !f.startsLine(spec) {
				return f.offset(spec.Pos()), text + "; "
			}
			return f.specStart(spec), text + f.eol() + f.indent(spec.Pos())
		}
	}
	spec := best[len(best)-1]
	return f.afterStatement(spec.End(), f.eol()+f.indent(spec.Pos()), text)
}

// eolUnless returns a line end if the closing parenthesis of an empty declaration has no line of its own.
func (f *goFile) eolUnless(d *ast.GenDecl) string {
	if f.line(d.Lparen) == f.line(d.Rparen) {
		return f.eol()
	}
	return ""
}

// specStart returns the offset of an import, or of the comment above it.
func (f *goFile) specStart(spec *ast.ImportSpec) int {
	if spec.Doc != nil {
		return f.offset(spec.Doc.Pos())
	}
	return f.offset(spec.Pos())
}

// importGroups returns the imports of a declaration in groups without an empty line in between.
func (f *goFile) importGroups(d *ast.GenDecl) [][]*ast.ImportSpec {
	var groups [][]*ast.ImportSpec
	end := -1
	for _, s := range d.Specs {
		spec, ok := s.(*ast.ImportSpec)
		if !ok {
			continue
		}
		start := f.fset.PositionFor(spec.Pos(), false).Line
		if spec.Doc != nil {
			start = f.line(spec.Doc.Pos())
		}
		if end < 0 || start > end+1 {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], spec)
		end = f.line(spec.End())
	}
	return groups
}

// likeness says how well two import paths go into one group: -1 not at all, else by the number of elements they share.
func likeness(a, b string) int {
	if isStandard(a) != isStandard(b) {
		return -1
	}
	if a == "C" || b == "C" {
		return -1
	}
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	n := 0
	for n < len(as) && n < len(bs) && as[n] == bs[n] {
		n++
	}
	return n
}

// isStandard reports whether a path is one of the standard library: its first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
