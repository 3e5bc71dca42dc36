package migrate

import (
	"crypto/sha256"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"sync"
)

// declarations are what the packages declare that a project imports: the types of it are needed, and no more. A project is loaded before it is
// rewritten and after, and most of what it imports is the same then, and parsed once. It is safe for concurrent use.
type declarations struct {
	fset  *token.FileSet
	files sync.Map // of *declaredFile, by name
}

// declaredFile is a file that was parsed.
type declaredFile struct {
	source [sha256.Size]byte
	syntax *ast.File
	err    error
}

func newDeclarations() *declarations { return &declarations{fset: token.NewFileSet()} }

// parse returns what a Go file declares, without comments, bodies of functions and elements of variables, which have no part in types.
func (d *declarations) parse(name string, source []byte) (*ast.File, error) {
	sum := sha256.Sum256(source)
	if known, ok := d.files.Load(name); ok && known.(*declaredFile).source == sum {
		return known.(*declaredFile).syntax, known.(*declaredFile).err
	}
	file := &declaredFile{source: sum}
	file.syntax, file.err = parser.ParseFile(d.fset, name, source, parser.SkipObjectResolution)
	if file.syntax != nil {
		omitValues(file.syntax)
	}
	d.files.Store(name, file)
	return file.syntax, file.err
}

// omitValues takes bodies of functions and elements of literals out of the declarations of a file.
func omitValues(file *ast.File) {
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Body != nil {
				decl.Body = &ast.BlockStmt{Lbrace: decl.Body.Lbrace, Rbrace: decl.Body.Rbrace}
			}
			// Without any body the type checker looks no further; one of type parameters or named init has to have one.
			if decl.Type.TypeParams == nil && decl.Name.Name != "init" && decl.Name.Name != "main" {
				decl.Body = nil
			}
		case *ast.GenDecl:
			if decl.Tok == token.VAR {
				ast.Inspect(decl, omitElements)
			}
		}
	}
}

// omitElements takes the elements out of a literal, on which its type does not depend.
func omitElements(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CompositeLit:
		if array, ok := n.Type.(*ast.ArrayType); ok {
			if _, counted := array.Len.(*ast.Ellipsis); counted {
				omitCounted(n, array)
				return true
			}
		}
		n.Elts = nil
	case *ast.FuncLit:
		n.Body = &ast.BlockStmt{Lbrace: n.Body.Lbrace, Rbrace: n.Body.Rbrace}
	}
	return true
}

// largeTable is from how many elements on an array with indexes is one of the tables that programs write, which are in order.
const largeTable = 1000

// omitCounted takes the elements out of an array whose length they give. Where they have indexes it is the last one that does.
func omitCounted(literal *ast.CompositeLit, array *ast.ArrayType) {
	n := len(literal.Elts)
	switch {
	case !slices.ContainsFunc(literal.Elts, isIndexed):
		array.Len = &ast.BasicLit{ValuePos: array.Len.Pos(), Kind: token.INT, Value: strconv.Itoa(n)}
		literal.Elts = nil
	case n >= largeTable && isIndexed(literal.Elts[n-1]):
		literal.Elts = literal.Elts[n-1:]
	}
}

func isIndexed(element ast.Expr) bool {
	_, ok := element.(*ast.KeyValueExpr)
	return ok
}
