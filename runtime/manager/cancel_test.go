package manager_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// cancels returns the variable to which s assigns a context's cancel function, or "" if s is another statement.
func cancels(s ast.Node) string {
	assigned, ok := s.(*ast.AssignStmt)
	if !ok || len(assigned.Lhs) != 2 || len(assigned.Rhs) != 1 {
		return ""
	}
	call, ok := assigned.Rhs[0].(*ast.CallExpr)
	if !ok {
		return ""
	}
	made, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !strings.HasPrefix(made.Sel.Name, "With") {
		return ""
	}
	if of, ok := made.X.(*ast.Ident); !ok || of.Name != "context" {
		return ""
	}
	name, ok := assigned.Lhs[1].(*ast.Ident)
	if !ok {
		return ""
	}
	return name.Name
}

// TestNoFunctionThatCancelsIsDropped searches for functions that assign two cancel functions to one variable, one after
// the other. Vet does not report that the first one can no longer be called.
func TestNoFunctionThatCancelsIsDropped(t *testing.T) {
	files, found := token.NewFileSet(), 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			seen := map[string]token.Pos{}
			ast.Inspect(declared, func(n ast.Node) bool {
				name := cancels(n)
				if name == "" {
					return true
				}
				found++
				if first, again := seen[name]; again && n.(*ast.AssignStmt).Tok == token.ASSIGN {
					t.Errorf("%s: the function in %s that cancels a context is dropped; it was made at %s",
						files.Position(n.Pos()), name, files.Position(first))
				}
				seen[name] = n.Pos()
				return true
			})
		}
		return nil
	})
	if err != nil || found < 20 {
		t.Fatalf("%d contexts were looked at, and %v", found, err)
	}
}
