package markers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// TestPlacesAreThoseOfControllerGen compares the declarations to which markers belong with controller-gen's, for all
// kinds of comments.
func TestPlacesAreThoseOfControllerGen(t *testing.T) {
	files, err := filepath.Glob("testdata/places/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal("no test data", err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			source, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			comparePlaces(t, source)
		})
	}
}

func comparePlaces(t *testing.T, source []byte) {
	t.Helper()
	registry, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "x.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	pkg := &loader.Package{Package: &packages.Package{Fset: fset, Syntax: []*ast.File{file}}}
	values, err := (&markers.Collector{Registry: registry.Registry}).MarkersInPackage(pkg)
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int{}, map[string]int{}
	describe := func(node ast.Node, name string, value any) string {
		return fmt.Sprintf("%v: %s = %v", fset.Position(node.Pos()), name, value)
	}
	for node, byName := range values {
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			for _, value := range byName[name] {
				want[describe(node, name, value)]++
			}
		}
	}
	for _, at := range registry.Read(fset, file) {
		if !at.Counts() {
			continue
		}
		if at.Err != nil {
			t.Fatal(at.Err)
		}
		got[describe(at.Node, at.Definition.Name, at.Value)]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places differ (-controller-gen +kctrl):\n%s", diff)
	}
}
