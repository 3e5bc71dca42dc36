package migrate

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// A cache of the runtime has the kinds that are declared, and a read of another one asks the API server each time, where controller-runtime
// starts a watch at the first read. That is no fault, but it is slower for who reads often, and so it is told, once for a kind.

// noteReads notes the first read of each kind by a client in files that are no tests, if nothing in the program watches that kind.
func (p *program) noteReads(files []*file) {
	known := map[string]bool{}
	for _, f := range files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			for _, kind := range f.kindsDeclared(n) {
				known[kind] = true
			}
			return true
		})
	}
	for _, f := range files {
		if isOfTests(f.name) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			kind := f.kindRead(n)
			if kind != "" && !known[kind] {
				known[kind] = true
				f.note(n, "nothing watches "+kind[strings.LastIndex(kind, ".")+1:]+", so that each read of it asks the API server: where it is read often, have a controller watch it, or call Informer of the cache")
			}
			return true
		})
	}
}

// isOfTests reports whether a file is a test, or in a folder of them.
func isOfTests(name string) bool {
	folders := strings.Split(name, "/")
	return strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(folders[:len(folders)-1], func(folder string) bool {
		return folder == "test" || folder == "tests" || folder == "e2e" || folder == "testing"
	})
}

// kindsDeclared returns the Go types of kinds that a node has watched, indexed, or read past the cache.
func (f *file) kindsDeclared(n ast.Node) (kinds []string) {
	switch n := n.(type) {
	case *ast.CallExpr:
		_, symbol := f.called(n)
		_, _, method := f.method(n)
		pkg, _, _ := strings.Cut(symbol+method, "#")
		pkg, _, _ = strings.Cut(pkg, ".")
		if pkg != "builder" && pkg != "controller" && pkg != "cache" && pkg != "source" && pkg != "ctrl" {
			return nil
		}
		for _, arg := range n.Args {
			kinds = append(kinds, namedOf(f.info.TypeOf(arg)))
		}
	case *ast.KeyValueExpr: // source.Kind{Type: &T{}}, cache.Options{ByObject: {&T{}: ...}}, DisableFor: []client.Object{&T{}}
		kinds = append(kinds, namedOf(f.info.TypeOf(n.Key)))
		if name, ok := n.Key.(*ast.Ident); ok && name.Name == "Type" {
			kinds = append(kinds, namedOf(f.info.TypeOf(n.Value)))
		}
		if list, ok := n.Value.(*ast.CompositeLit); ok && isIdent(n.Key, "DisableFor") {
			for _, element := range list.Elts {
				kinds = append(kinds, namedOf(f.info.TypeOf(element)))
			}
		}
	}
	return kinds
}

// kindRead returns the Go type of the kind that a node reads by a client whose reads a cache may answer, or "".
func (f *file) kindRead(n ast.Node) string {
	call, selector, key := f.method(n)
	at := map[string]int{"client#Get": 2, "client#List": 1}[key]
	if at == 0 || len(call.Args) <= at || typeKey(f.info.TypeOf(selector.X)) == "client.Reader" {
		return ""
	}
	t := f.info.TypeOf(call.Args[at])
	if items := itemsOf(t); items != nil {
		t = items
	}
	kind := namedOf(t)
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if _, ok := t.Underlying().(*types.Struct); !ok || strings.HasPrefix(kind, "k8s.io/apimachinery/") {
		return "" // of any kind
	}
	return kind
}

// itemsOf returns the type of the items of a list kind, or nil.
func itemsOf(t types.Type) types.Type {
	if pointer, ok := types.Unalias(t).(*types.Pointer); ok {
		t = pointer.Elem()
	}
	list, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for field := range list.Fields() {
		if items, ok := field.Type().Underlying().(*types.Slice); ok && field.Name() == "Items" {
			return items.Elem()
		}
	}
	return nil
}
