package migrate

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// TestDeclarationsHaveTheTypesOfTheirSource type-checks what is kept of a file beside the whole of it.
func TestDeclarationsHaveTheTypesOfTheirSource(t *testing.T) {
	source := `package p

import "strings"

const low = 3

type Point struct{ X, Y int }

func Sum(a, b int) (c int)         { return a + b + len(strings.Repeat("a", c)) }
func Generic[T any](t T) T         { return t }
func (p *Point) Move(by int) error { return nil }
func init()                        { Sum(1, 2) }

var (
	Counted    = [...]string{"a", "b", "c"}
	Indexed    = [...]string{9: "a", low: "b"}
	Of         = [][]Point{{{1, 2}}, {{3, 4}}}
	Map        = map[string][]int{"a": {1}}
	Pointer    = &Point{1, 2}
	Length     = len(Counted)
	Called     = Sum(1, 2)
	Inferred   = Generic([]Point{{1, 2}})
	Function   = func(a int) (string, error) { return "", nil }
	At, Second = Sum(1, 2), [...]int{1}
	Anonymous  = []struct{ A int }{{1}}
)

const Size = len(Counted)

var Table = [...]uint16{
`
	for i := range 2 * largeTable {
		source += fmt.Sprintf("\tlow + %d: 1,\n", 2*i)
	}
	source += "}\n"
	fset := token.NewFileSet()
	whole, err := parser.ParseFile(fset, "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := newDeclarations()
	kept, err := declared.parse("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	want, got := declaredTypes(fset, whole), declaredTypes(declared.fset, kept)
	if !slices.Equal(want, got) || len(want) != 17 {
		t.Errorf("the whole declares\n%s\nand what is kept\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
	}
	elements := 0
	ast.Inspect(kept, func(n ast.Node) bool {
		if literal, ok := n.(*ast.CompositeLit); ok {
			elements += len(literal.Elts)
		}
		return true
	})
	if elements != 3 {
		t.Errorf("%d elements are kept, want those that give a length by their index", elements)
	}
	if again, err := declared.parse("p.go", []byte(source)); err != nil || again != kept {
		t.Errorf("it is parsed again, %v", err)
	}
	if changed, err := declared.parse("p.go", []byte("package p\n")); err != nil || changed == kept {
		t.Errorf("a file that has changed is the one before, %v", err)
	}
}

// declaredTypes returns the types of what a file exports.
func declaredTypes(fset *token.FileSet, file *ast.File) []string {
	config := types.Config{Importer: importer.ForCompiler(fset, "source", nil), Error: func(error) {}}
	pkg, _ := config.Check("p", fset, []*ast.File{file}, nil) // what is kept imports what it does not use
	var all []string
	for _, name := range pkg.Scope().Names() {
		if object := pkg.Scope().Lookup(name); object.Exported() {
			all = append(all, types.ObjectString(object, nil))
		}
	}
	return all
}
