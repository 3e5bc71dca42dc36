package versions

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/edit"
)

// versionMarkers are markers that apply to only one version of a kind.
var versionMarkers = []string{
	"+kubebuilder:storageversion", "+kubebuilder:deprecatedversion", "+kubebuilder:unservedversion",
	"+kubebuilder:skipversion",
}

// Copy returns the files that add the types of a kind to another API package. They contain the kind, its list and all
// types that these use, with methods, constants, comments and markers. Copy copies a whole file if all of its
// declarations are needed. declared has the names that the other package already declares, dir is the directory of that
// package, and header is the header of the new files.
func (p *Package) Copy(kind, dir, name, header string, declared map[string]bool) ([]File, error) {
	needed := p.closure([]string{kind, kind + "List"}, declared)
	var files []File
	for _, f := range p.files {
		var decls []ast.Decl
		whole := true
		for _, decl := range f.File.Decls {
			switch {
			case isImport(decl):
			case needed[decl]:
				decls = append(decls, decl)
			default:
				whole = false
			}
		}
		if len(decls) == 0 {
			continue
		}
		source, err := f.copied(decls, whole, name, header)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: path.Join(dir, path.Base(f.Name)), Source: source})
	}
	return files, nil
}

// closure returns the declarations that the wanted names need, except names that are declared elsewhere.
func (p *Package) closure(wanted []string, declared map[string]bool) map[ast.Decl]bool {
	needed, seen := map[ast.Decl]bool{}, maps.Clone(declared)
	if seen == nil {
		seen = map[string]bool{}
	}
	for len(wanted) > 0 {
		name := wanted[0]
		wanted = wanted[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		for _, f := range p.files {
			for _, decl := range f.File.Decls {
				if !needed[decl] && (declares(decl, name) || receiver(decl) == name ||
					slices.Contains(valuesOf(decl), name)) {
					needed[decl] = true
					wanted = append(wanted, references(decl)...)
				}
			}
		}
	}
	return needed
}

// references returns the identifiers in a declaration that may refer to other declarations of its package.
func references(decl ast.Decl) []string {
	var found []string
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			ast.Inspect(n.Type, visit) // the field's own name is not a reference
			return false
		case *ast.SelectorExpr:
			ast.Inspect(n.X, func(x ast.Node) bool {
				if ident, ok := x.(*ast.Ident); ok {
					found = append(found, ident.Name)
				}
				return true
			})
			return false
		case *ast.Ident:
			found = append(found, n.Name)
		}
		return true
	}
	ast.Inspect(decl, visit)
	// Names in struct literals count as references. At worst, Copy copies a type that is not needed, but it never omits a
	// needed one.
	return found
}

// copied returns a file with the given declarations, for a package with another name.
func (f *file) copied(decls []ast.Decl, whole bool, name, header string) ([]byte, error) {
	if whole {
		at := f.Offset(f.File.Name.Pos())
		return slices.Concat(f.without(0, at), []byte(name), f.without(at+len(f.File.Name.Name), len(f.Text))), nil
	}
	var out bytes.Buffer
	out.WriteString(header)
	fmt.Fprintf(&out, "package %s\n", name)
	if imports := f.usedImports(decls); len(imports) > 0 {
		fmt.Fprintf(&out, "\nimport (\n%s)\n", strings.Join(imports, ""))
	}
	for _, decl := range decls {
		out.WriteString("\n")
		out.Write(bytes.TrimSpace(f.without(f.start(decl), endOfLine(f.Text, f.Offset(decl.End())))))
		out.WriteString("\n")
	}
	source, err := format.Source(bytes.ReplaceAll(out.Bytes(), []byte("\r\n"), []byte("\n")))
	if err != nil {
		return nil, diagnostic.NotGo(f.Name, err)
	}
	return source, nil
}

// start returns the offset where the comments before a declaration begin.
func (f *file) start(decl ast.Decl) int {
	after := f.Offset(f.File.Name.End())
	for _, other := range f.File.Decls {
		if other.End() <= decl.Pos() {
			after = max(after, endOfLine(f.Text, f.Offset(other.End())))
		}
	}
	return after
}

// without returns a part of the file without the lines that contain a version marker.
func (f *file) without(from, to int) []byte {
	var out []byte
	for _, group := range f.File.Comments {
		for _, comment := range group.List {
			at := f.Offset(comment.Pos())
			if at < from || at >= to || !isVersionMarker(comment) {
				continue
			}
			line := bytes.LastIndexByte(f.Text[:at], '\n') + 1
			if line < from || len(bytes.TrimSpace(f.Text[line:at])) > 0 {
				continue
			}
			out = append(out, f.Text[from:line]...)
			from = min(to, nextLine(f.Text, at))
		}
	}
	return append(out, f.Text[from:to]...)
}

func isVersionMarker(comment *ast.Comment) bool {
	return slices.ContainsFunc(versionMarkers, func(marker string) bool { return edit.IsMarker(comment, marker) })
}

// usedImports returns the import lines that the declarations need.
func (f *file) usedImports(decls []ast.Decl) []string {
	used := map[string]bool{}
	for _, decl := range decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := selector.X.(*ast.Ident); ok {
					used[x.Name] = true
				}
			}
			return true
		})
	}
	var lines []string
	for _, spec := range f.File.Imports {
		if !slices.ContainsFunc(importNames(spec), func(name string) bool {
			return used[name] || name == "." ||
				name == "_"
		}) {
			continue
		}
		lines = append(lines, string(f.Text[f.Offset(spec.Pos()):f.Offset(spec.End())])+"\n")
	}
	return lines
}

func endOfLine(src []byte, at int) int {
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(src)
}

func nextLine(src []byte, at int) int { return min(len(src), endOfLine(src, at)+1) }
