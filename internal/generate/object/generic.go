package object

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// Checked returns an output rule that adds an error to a package whose deep copies would not compile, as they name a
// generic type without its arguments: the generator of controller-tools does not know that there are any.
func Checked(rule genall.OutputRule) genall.OutputRule { return checked{rule} }

type checked struct{ genall.OutputRule }

// Open begins a file.
func (c checked) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	out, err := c.OutputRule.Open(pkg, name)
	if err != nil || pkg == nil {
		return out, err
	}
	return &checkedFile{WriteCloser: out, pkg: pkg}, nil
}

// checkedFile is looked at when it is complete.
type checkedFile struct {
	io.WriteCloser
	pkg  *loader.Package
	text bytes.Buffer
}

func (f *checkedFile) Write(text []byte) (int, error) {
	f.text.Write(text)
	return f.WriteCloser.Write(text)
}

func (f *checkedFile) Close() error {
	f.check()
	return f.WriteCloser.Close()
}

// check reports each generic type once, at its declaration.
func (f *checkedFile) check() {
	generic := map[string]*ast.TypeSpec{}
	for _, file := range f.pkg.Syntax {
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				if t := spec.(*ast.TypeSpec); t.TypeParams != nil {
					generic[t.Name.Name] = t
				}
			}
		}
	}
	if len(generic) == 0 {
		return
	}
	code, err := parser.ParseFile(token.NewFileSet(), "", f.text.Bytes(), parser.SkipObjectResolution)
	if err != nil {
		return
	}
	ast.Inspect(code, func(node ast.Node) bool {
		if _, ok := node.(*ast.SelectorExpr); ok {
			return false
		}
		if name, ok := node.(*ast.Ident); ok && generic[name.Name] != nil {
			spec := generic[name.Name]
			delete(generic, name.Name)
			f.pkg.AddError(loader.ErrFromNode(fmt.Errorf("deep copies of %s cannot be generated: it is a generic type", name.Name), spec))
		}
		return true
	})
}
