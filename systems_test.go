package kctrl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestTypesOnOtherSystems checks the types of all packages and tests as they are for other systems. Of what is imported the declarations are
// read and nothing is compiled, which go vet takes minutes for: make vet-systems.
func TestTypesOnOtherSystems(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			loaded, err := packages.Load(&packages.Config{
				Context: t.Context(), Tests: true, Env: append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), ParseFile: declarationsOutside(root),
				Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
					packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
			}, "./...")
			if err != nil {
				t.Fatal(err)
			}
			if len(loaded) < 100 {
				t.Errorf("there are %d packages", len(loaded))
			}
			for _, pkg := range loaded {
				for _, e := range pkg.Errors {
					t.Error(e)
				}
			}
		})
	}
}

// declarationsOutside returns what parses files below a folder whole, and others without the bodies of functions.
func declarationsOutside(root string) func(*token.FileSet, string, []byte) (*ast.File, error) {
	return func(set *token.FileSet, name string, content []byte) (*ast.File, error) {
		file, err := parser.ParseFile(set, name, content, parser.SkipObjectResolution)
		isOurs := strings.HasPrefix(name, root+string(filepath.Separator)) || filepath.Ext(name) != ".go" // the go command's own, such as main functions of tests
		if err != nil || isOurs {
			return file, err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				f.Body.List = nil // and what is wrong with that is of no interest
			}
		}
		return file, nil
	}
}
