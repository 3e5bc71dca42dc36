package rewrite

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// ControllerRuntime is the path of controller-runtime's module.
const ControllerRuntime = "sigs.k8s.io/controller-runtime"

// Runtime is the path of the packages of kctrl's runtime.
const Runtime = "github.com/kctrl-dev/kctrl/runtime"

// File is a Go file that rules rewrite to kctrl's API.
type File struct {
	// Name is the absolute path of the file.
	Name    string
	Syntax  *ast.File
	Fset    *token.FileSet
	Package *types.Package
	Info    *types.Info
	Source  []byte

	fixed   bool // not to be changed
	edits   []edit
	imports []string // paths of packages that the new text uses
}

// edit replaces the source text of a range.
type edit struct {
	from, to int
	text     string
}

// Replace replaces the source text of a node. Replaced nodes must not overlap.
func (f *File) Replace(n ast.Node, text string) {
	f.edits = append(f.edits, edit{f.offset(n.Pos()), f.offset(n.End()), text})
}

// Text returns the source text of a node.
func (f *File) Text(n ast.Node) string { return string(f.Source[f.offset(n.Pos()):f.offset(n.End())]) }

// Wrap inserts text before and after a node. Other edits may be inside the node.
func (f *File) Wrap(n ast.Node, before, after string) {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	f.edits = append(f.edits, edit{from, from, before}, edit{to, to, after})
}

func (f *File) offset(p token.Pos) int { return f.Fset.Position(p).Offset }

// Qualified returns a text for an exported identifier of a package, which the file will import.
func (f *File) Qualified(path, name string) string {
	i := slices.Index(f.imports, path)
	if i < 0 {
		i = len(f.imports)
		f.imports = append(f.imports, path)
	}
	return placeholder(i) + "." + name
}

// placeholder returns the placeholder for the name of an import, which is unknown until all edits are known.
func placeholder(i int) string { return fmt.Sprintf("kctrlImport%dOfThisFile", i) }

// Imported returns the object of a controller-runtime package to which a selector refers, or nil for other selectors.
func (f *File) Imported(n *ast.SelectorExpr) types.Object {
	ident, ok := n.X.(*ast.Ident)
	if !ok {
		return nil
	}
	if _, ok := f.Info.Uses[ident].(*types.PkgName); !ok {
		return nil
	}
	object := f.Info.Uses[n.Sel]
	if object == nil || !IsControllerRuntime(object.Pkg()) {
		return nil
	}
	return object
}

// IsControllerRuntime reports whether a package belongs to controller-runtime.
func IsControllerRuntime(pkg *types.Package) bool {
	return pkg != nil && (pkg.Path() == ControllerRuntime || strings.HasPrefix(pkg.Path(), ControllerRuntime+"/"))
}

// Key returns the key of a controller-runtime object in the tables of rules, such as "pkg/client.Object".
func Key(object types.Object) string {
	path := strings.TrimPrefix(strings.TrimPrefix(object.Pkg().Path(), ControllerRuntime), "/")
	return path + "." + object.Name()
}

// uses counts the references to controller-runtime by name, such as "client.Client".
func (f *File) uses() map[string]int {
	count := map[string]int{}
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok && f.Imported(n) != nil {
			count[n.X.(*ast.Ident).Name+"."+n.Sel.Name]++
		}
		return true
	})
	return count
}

// result returns the text of the file after the edits. Without edits, it is the source.
func (f *File) result() ([]byte, error) {
	if len(f.edits) == 0 {
		return f.Source, nil
	}
	slices.SortStableFunc(f.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out bytes.Buffer
	at := 0
	for _, e := range f.edits {
		if e.from < at {
			return nil, fmt.Errorf("%s: two rules replace one text", f.Fset.Position(f.Syntax.FileStart+token.Pos(e.from)))
		}
		out.Write(f.Source[at:e.from])
		out.WriteString(e.text)
		at = e.to
	}
	out.Write(f.Source[at:])
	text, err := f.withImports(out.Bytes())
	if err != nil {
		return nil, err
	}
	lf, crlf := []byte("\n"), []byte("\r\n")
	source, isCRLF := f.Source, bytes.Count(f.Source, crlf) == bytes.Count(f.Source, lf)
	if isCRLF {
		source, text = bytes.ReplaceAll(source, crlf, lf), bytes.ReplaceAll(text, crlf, lf)
	}
	formatted, err := format.Source(source)
	if err == nil && bytes.Equal(formatted, source) { // otherwise the author did not format the file with gofmt
		text, err = format.Source(text)
	}
	if isCRLF {
		text = bytes.ReplaceAll(text, lf, crlf)
	}
	return text, err
}
