package rules

import (
	goconstant "go/constant"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/migrate/rewrite"
)

// TestTypesProveTheTables compares each row of the tables with the declarations on both sides.
func TestTypesProveTheTables(t *testing.T) {
	lookup := loader(t)
	for name, target := range functions {
		theirs, ours := lookup(name, target)
		from, ok := theirs.Type().(*types.Signature)
		to, isFunction := ours.Type().(*types.Signature)
		if !ok || !isFunction {
			t.Errorf("%s: not two functions", name)
			continue
		}
		if !types.Identical(from.Results(), to.Results()) {
			t.Errorf("%s: results %s and %s", name, from.Results(), to.Results())
		}
		if from.Variadic() || to.Variadic() || from.Params().Len() != to.Params().Len() {
			t.Errorf("%s: parameters %s and %s", name, from.Params(), to.Params())
			continue
		}
		for i := range from.Params().Len() {
			if have, want := from.Params().At(i).Type(), to.Params().At(i).Type(); !types.AssignableTo(have, want) {
				t.Errorf("%s: argument %d of type %s is not assignable to %s", name, i, have, want)
			}
		}
	}
	for name, target := range constants {
		theirs, ours := lookup(name, target)
		from, to := theirs.(*types.Const), ours.(*types.Const)
		if !types.Identical(from.Type(), to.Type()) || goconstant.Compare(from.Val(), token.NEQ, to.Val()) {
			t.Errorf("%s: %s and %s", name, from, to)
		}
	}
}

// TestTypesOfClients checks that types other than interfaces and structs have the same underlying type on both sides,
// so that conversions and literals keep their meaning. The compiler checks the other types in each package.
func TestTypesOfClients(t *testing.T) {
	lookup := loader(t)
	for name, target := range clientTypes {
		theirs, ours := lookup(name, target)
		switch from := theirs.Type().Underlying().(type) {
		case *types.Interface, *types.Struct:
		default:
			if to := ours.Type().Underlying(); !types.Identical(from, to) {
				t.Errorf("%s: %s and %s", name, from, to)
			}
		}
	}
	for name, target := range clientValues {
		lookup(name, target)
	}
}

// loader returns a function for the two objects of a row.
func loader(t *testing.T) func(name, target string) (theirs, ours types.Object) {
	t.Helper()
	wanted := map[string]bool{}
	for _, table := range []map[string]string{functions, constants, clientTypes, clientValues} {
		for name, target := range table {
			wanted[packageOf(rewrite.ControllerRuntime, name)] = true
			wanted[packageOf(rewrite.Runtime, target)] = true
		}
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
		Dir:  "../../../compat/controller-runtime",
	}, slices.Sorted(maps.Keys(wanted))...)
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]*types.Package{}
	for _, pkg := range loaded {
		for _, e := range pkg.Errors {
			t.Fatal(e)
		}
		byPath[pkg.PkgPath] = pkg.Types
	}
	object := func(module, name string) types.Object {
		found := byPath[packageOf(module, name)].Scope().Lookup(name[strings.LastIndex(name, ".")+1:])
		if found == nil {
			t.Fatalf("no %s in %s", name, module)
		}
		return found
	}
	return func(name, target string) (theirs, ours types.Object) {
		return object(rewrite.ControllerRuntime, name), object(rewrite.Runtime, target)
	}
}

func packageOf(module, name string) string {
	return path.Join(module, name[:strings.LastIndex(name, ".")])
}
