package apitest

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// check returns a package with the given source.
func check(t *testing.T, source string) map[string]*types.Package {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "p.go", "package p\n"+source, 0)
	if err != nil {
		t.Fatal(err)
	}
	config := types.Config{Importer: importer.Default()}
	p, err := config.Check(module+"/p", files, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*types.Package{p.Path(): p}
}

func TestCompareFindsIncompatibleChanges(t *testing.T) {
	for _, r := range []struct{ name, original, ours, want string }{
		{"the same", "type T struct{ A int }\nfunc (T) M() {}", "type T struct{ A int }\nfunc (T) M() {}", ""},
		{"more", "type T struct{ A int }", "type T struct{ A, B int }\nfunc (T) M() {}\nfunc F() {}", ""},
		{"an alias", "type T struct{ A int }\nfunc F(T) {}", "type u struct{ A int }\ntype T = u\nfunc F(T) {}", ""},
		{"a hidden type", "type h struct{}\nfunc (h) M() {}\nvar V h", "type k struct{}\nfunc (k) M() {}\nvar V k", ""},
		{"a hidden type with less", "type h struct{}\nfunc (h) M() {}\nvar V h", "type k struct{}\nvar V k", "V was"},
		{"no function", "func F() {}", "", "F is missing"},
		{"another parameter", "func F(int) {}", "func F(string) {}", "F was"},
		{"another result", "func F() int { return 0 }", "func F() string { return \"\" }", "F was"},
		{"no field", "type T struct{ A int }", "type T struct{}", "T.A was"},
		{"another field", "type T struct{ A int }", "type T struct{ A string }", "T.A was"},
		{"no method", "type T struct{}\nfunc (T) M() {}", "type T struct{}", "method M of T is missing"},
		{"a pointer's method", "type T int\nfunc (T) M() {}", "type T int\nfunc (*T) M() {}", "method M of T is missing"},
		{"an interface with more", "type I interface{ M() }", "type I interface{ M(); N() }", "I has other methods"},
		{"another value", "const C = 1", "const C = 2", "C was"},
		{"another kind", "type T int", "type T string", "T was"},
		{"another constraint", "type T[P any] struct{}", "type T[P comparable] struct{}", "T has other type parameters"},
		{"another argument", "type G[P any] int\ntype T = G[int]", "type G[P any] int\ntype T = G[string]", "T was"},
		{"a function for a type", "type T int", "func T() {}", "T was"},
	} {
		found := compare(check(t, r.original), check(t, r.ours))
		switch {
		case r.want == "" && len(found) > 0:
			t.Errorf("%s: %q", r.name, found)
		case r.want != "" && (len(found) == 0 || !strings.Contains(strings.Join(found, "\n"), r.want)):
			t.Errorf("%s: %q, want %q", r.name, found, r.want)
		}
	}
}
