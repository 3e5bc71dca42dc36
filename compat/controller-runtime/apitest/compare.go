package apitest

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// comparison finds uses of the original API that would not compile with ours. Two types correspond if both modules
// export them under the same name, even if one is an alias of a type in another package. The package
// golang.org/x/exp/apidiff would report such an alias as a change.
type comparison struct {
	original, ours map[string]*types.Package
	types          map[*types.TypeName]types.Type // our type for each type name of the original
	found          []string
}

// compare returns the incompatible differences between the two APIs, sorted, with one line for each.
func compare(original, ours map[string]*types.Package) []string {
	c := &comparison{original: original, ours: ours, types: map[*types.TypeName]types.Type{}}
	c.pair()
	for _, path := range slices.Sorted(maps.Keys(original)) {
		c.comparePackage(path)
	}
	slices.Sort(c.found)
	return slices.Compact(c.found)
}

// pair finds the corresponding types.
func (c *comparison) pair() {
	for path, p := range c.original {
		for _, name := range p.Scope().Names() {
			old, isType := p.Scope().Lookup(name).(*types.TypeName)
			if !isType || !old.Exported() || c.ours[path] == nil {
				continue
			}
			now, isType := c.ours[path].Scope().Lookup(name).(*types.TypeName)
			named, isNamed := types.Unalias(old.Type()).(*types.Named)
			if isType && isNamed && named.TypeArgs().Len() == 0 {
				c.types[named.Obj()] = types.Unalias(now.Type())
			}
		}
	}
}

// report records a difference of a package.
func (c *comparison) report(path, format string, args ...any) {
	name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if name == "" {
		name = "."
	}
	c.found = append(c.found, name+": "+fmt.Sprintf(format, args...))
}

func (c *comparison) comparePackage(path string) {
	old, now := c.original[path].Scope(), c.ours[path]
	for _, name := range old.Names() {
		o := old.Lookup(name)
		if !o.Exported() {
			continue
		}
		if now == nil {
			c.report(path, "the package is missing")
			return
		}
		n := now.Scope().Lookup(name)
		if n == nil {
			c.report(path, "%s is missing", name)
			continue
		}
		c.compareObject(path, o, n)
	}
}

func (c *comparison) compareObject(path string, o, n types.Object) {
	switch o := o.(type) {
	case *types.TypeName:
		if now, ok := n.(*types.TypeName); ok {
			c.compareType(path, o, now)
			return
		}
	case *types.Const:
		now, ok := n.(*types.Const)
		if ok && c.identical(o.Type(), n.Type()) && constant.Compare(o.Val(), token.EQL, now.Val()) {
			return
		}
	case *types.Func:
		if _, ok := n.(*types.Func); ok && c.identical(o.Type(), n.Type()) {
			return
		}
	case *types.Var:
		if _, ok := n.(*types.Var); ok && c.identical(o.Type(), n.Type()) {
			return
		}
	}
	c.report(path, "%s was %s, and is %s", o.Name(), o, n)
}

func (c *comparison) compareType(path string, o, n *types.TypeName) {
	old, isNamed := types.Unalias(o.Type()).(*types.Named)
	if !isNamed || old.TypeArgs().Len() > 0 {
		if !c.identical(o.Type(), n.Type()) {
			c.report(path, "%s was %s, and is %s", o.Name(), o, n)
		}
		return
	}
	now := types.Unalias(n.Type())
	if named, ok := now.(*types.Named); ok && !c.sameParameters(old.TypeParams(), named.TypeParams()) {
		c.report(path, "%s has other type parameters", o.Name())
		return
	}
	switch under := old.Underlying().(type) {
	case *types.Struct:
		c.compareFields(path, o.Name(), under, now)
	case *types.Interface:
		c.compareMethods(path, o.Name(), old, now)
		if other, ok := now.Underlying().(*types.Interface); !ok || other.NumMethods() != under.NumMethods() {
			c.report(path, "%s has other methods", o.Name())
		}
		return
	default:
		if !c.identical(under, now.Underlying()) {
			c.report(path, "%s was %s, and is %s", o.Name(), under, now.Underlying())
		}
	}
	c.compareMethods(path, o.Name(), old, now)
	c.compareMethods(path, "*"+o.Name(), types.NewPointer(old), types.NewPointer(now))
}

// compareFields compares the exported fields of structs.
func (c *comparison) compareFields(path, name string, old *types.Struct, now types.Type) {
	under, isStruct := now.Underlying().(*types.Struct)
	if !isStruct {
		c.report(path, "%s is not a struct", name)
		return
	}
	fields := map[string]*types.Var{}
	for f := range under.Fields() {
		fields[f.Name()] = f
	}
	for f := range old.Fields() {
		if !f.Exported() {
			continue
		}
		other := fields[f.Name()]
		if other == nil || other.Embedded() != f.Embedded() || !c.identical(f.Type(), other.Type()) {
			c.report(path, "%s.%s was %s, and is %s", name, f.Name(), f, other)
		}
	}
}

// compareMethods compares the exported methods of types.
func (c *comparison) compareMethods(path, name string, old, now types.Type) {
	for m := range types.NewMethodSet(old).Methods() {
		if !m.Obj().Exported() {
			continue
		}
		other := types.NewMethodSet(now).Lookup(nil, m.Obj().Name())
		switch {
		case other == nil:
			c.report(path, "method %s of %s is missing", m.Obj().Name(), name)
		case !c.identical(m.Type(), other.Type()):
			c.report(path, "method %s of %s was %s, and is %s", m.Obj().Name(), name, m.Type(), other.Type())
		}
	}
}

func (c *comparison) sameParameters(o, n *types.TypeParamList) bool {
	if o.Len() != n.Len() {
		return false
	}
	for i := range o.Len() {
		if !c.identical(o.At(i).Constraint(), n.At(i).Constraint()) {
			return false
		}
	}
	return true
}

// identical reports whether a type of the original and one of ours are interchangeable in programs.
func (c *comparison) identical(o, n types.Type) bool {
	o, n = types.Unalias(o), types.Unalias(n)
	switch o := o.(type) {
	case *types.Named:
		n, ok := n.(*types.Named)
		return ok && c.identicalNamed(o, n)
	case *types.Pointer:
		n, ok := n.(*types.Pointer)
		return ok && c.identical(o.Elem(), n.Elem())
	case *types.Slice:
		n, ok := n.(*types.Slice)
		return ok && c.identical(o.Elem(), n.Elem())
	case *types.Array:
		n, ok := n.(*types.Array)
		return ok && o.Len() == n.Len() && c.identical(o.Elem(), n.Elem())
	case *types.Map:
		n, ok := n.(*types.Map)
		return ok && c.identical(o.Key(), n.Key()) && c.identical(o.Elem(), n.Elem())
	case *types.Chan:
		n, ok := n.(*types.Chan)
		return ok && o.Dir() == n.Dir() && c.identical(o.Elem(), n.Elem())
	case *types.Signature:
		n, ok := n.(*types.Signature)
		return ok && o.Variadic() == n.Variadic() && c.sameParameters(o.TypeParams(), n.TypeParams()) &&
			c.identicalTuple(o.Params(), n.Params()) && c.identicalTuple(o.Results(), n.Results())
	case *types.Struct:
		n, ok := n.(*types.Struct)
		if !ok || o.NumFields() != n.NumFields() {
			return false
		}
		for i := range o.NumFields() {
			if o.Field(i).Name() != n.Field(i).Name() || !c.identical(o.Field(i).Type(), n.Field(i).Type()) {
				return false
			}
		}
		return true
	case *types.Interface:
		n, ok := n.(*types.Interface)
		return ok && c.identicalInterface(o, n)
	case *types.TypeParam:
		n, ok := n.(*types.TypeParam)
		return ok && o.Index() == n.Index()
	}
	return types.Identical(o, n)
}

func (c *comparison) identicalTuple(o, n *types.Tuple) bool {
	if o.Len() != n.Len() {
		return false
	}
	for i := range o.Len() {
		if !c.identical(o.At(i).Type(), n.At(i).Type()) {
			return false
		}
	}
	return true
}

func (c *comparison) identicalInterface(o, n *types.Interface) bool {
	if o.NumMethods() != n.NumMethods() || o.IsComparable() != n.IsComparable() ||
		o.NumEmbeddeds() != n.NumEmbeddeds() {
		return false
	}
	for i := range o.NumMethods() {
		if o.Method(i).Name() != n.Method(i).Name() || !c.identical(o.Method(i).Type(), n.Method(i).Type()) {
			return false
		}
	}
	return true
}

func (c *comparison) identicalNamed(o, n *types.Named) bool {
	if o.TypeArgs().Len() != n.TypeArgs().Len() {
		return false
	}
	for i := range o.TypeArgs().Len() {
		if !c.identical(o.TypeArgs().At(i), n.TypeArgs().At(i)) {
			return false
		}
	}
	old, now := o.Obj(), n.Obj()
	if paired, ok := c.types[old]; ok {
		other, isNamed := paired.(*types.Named)
		return isNamed && other.Obj() == now
	}
	if old.Pkg() != nil && strings.HasPrefix(old.Pkg().Path(), module) &&
		(!old.Exported() || strings.Contains(old.Pkg().Path(), "/internal/")) {
		return c.identicalHidden(o, n)
	}
	return old.Name() == now.Name() && (old.Pkg() == nil || now.Pkg() != nil && old.Pkg().Path() == now.Pkg().Path())
}

// identicalHidden compares unexported types. Programs can use only their exported fields and methods, so it compares
// only those.
func (c *comparison) identicalHidden(o, n *types.Named) bool {
	before := len(c.found)
	if under, isStruct := o.Underlying().(*types.Struct); isStruct {
		c.compareFields("hidden", n.Obj().Name(), under, n)
	}
	c.compareMethods("hidden", n.Obj().Name(), types.NewPointer(o), types.NewPointer(n))
	same := len(c.found) == before
	c.found = c.found[:before]
	return same
}
