package markers

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutBodies(t *testing.T) {
	tests := map[string]struct{ source, want string }{
		"body": {
			"package a\n\nfunc f() int {\n\treturn 1\n}\n\ntype T int\n",
			"package a\n\nfunc f() int {\n         \n}\n\ntype T int\n",
		},
		"one line":            {"func f() { g() }\n\nvar x = 1\n", "func f() { g() }\n\nvar x = 1\n"},
		"no body":             {"func f()\n\nfunc g() {\n\tx\n}\n", "func f()\n\nfunc g() {\n  \n}\n"},
		"several lines":       {"func f(\n\ta int,\n) error {\n\tx\n}\n", "func f(\n\ta int,\n) error {\n  \n}\n"},
		"no end":              {"func f() {\n\tx\n", "func f() {\n\tx\n"},
		"function in a value": {"var f = func() {\n\tx\n}\n", "var f = func() {\n\tx\n}\n"},
		"not formatted":       {"func f() {\n\tx\n  }\ntype T struct {\n\tA int\n}\n", "func f() {\n\tx\n  }\ntype T struct {\n\tA int\n}\n"},
		"empty":               {"", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, string(withoutBodies([]byte(test.source)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWithoutBodiesKeepsDeclarations takes the bodies out of real code: what still parses declares the same at the same
// places.
func TestWithoutBodiesKeepsDeclarations(t *testing.T) {
	parsed := 0
	for _, folder := range []string{"time", "net/http", "reflect", "encoding/json", "go/types", "text/template"} {
		names, err := filepath.Glob(filepath.Join(build.Default.GOROOT, "src", folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("no source of %s: %v", folder, err)
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			whole := declarations(t, content)
			if less := declarations(t, withoutBodies(content)); less != nil {
				parsed++
				if diff := cmp.Diff(whole, less); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
	}
	if parsed < 100 {
		t.Errorf("only %d files parse without the bodies of their functions", parsed)
	}
}

// declarations returns where every declaration begins and ends, and nil for a file that does not parse.
func declarations(t *testing.T, source []byte) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", source, parserMode)
	if err != nil {
		return nil
	}
	var found []string
	for _, decl := range file.Decls {
		text := fset.Position(decl.Pos()).String() + "-" + fset.Position(decl.End()).String()
		if f, ok := decl.(*ast.FuncDecl); ok {
			text += " " + f.Name.Name
		}
		found = append(found, text)
	}
	return found
}
