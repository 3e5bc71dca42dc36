package object

import (
	"go/types"
	"slices"
)

// methods are the methods of a type that make deep copies. The zero value is empty.
type methods struct {
	into    bool // func (in *T) DeepCopyInto(out *T)
	copy    bool // func (in *T) DeepCopy() *T
	pointer bool // DeepCopy returns *T instead of T
}

func (m methods) any() bool { return m.into || m.copy }

// declared returns the methods that the source of a type declares, without generated files.
func declared(t types.Type) methods {
	var m methods
	if into := method(t, "DeepCopyInto"); into != nil && into.Params().Len() == 1 && into.Results().Len() == 0 {
		out, isPointer := into.Params().At(0).Type().(*types.Pointer)
		m.into = isPointer && types.Identical(out.Elem(), pointedTo(into.Recv().Type()))
	}
	if copies := method(t, "DeepCopy"); copies != nil && copies.Params().Len() == 0 && copies.Results().Len() == 1 {
		_, m.pointer = copies.Recv().Type().(*types.Pointer)
		m.copy = types.Identical(copies.Results().At(0).Type(), copies.Recv().Type())
	}
	return m
}

// method returns the signature of a method of the type itself, not of embedded types.
func method(t types.Type, name string) *types.Signature {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return nil
	}
	object, index, _ := types.LookupFieldOrMethod(named, true, named.Obj().Pkg(), name)
	function, ok := object.(*types.Func)
	if !ok || len(index) != 1 {
		return nil
	}
	return function.Signature()
}

func pointedTo(t types.Type) types.Type {
	if pointer, ok := t.(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}

// of returns the methods of a type after all code is generated, and whether some are written by hand. A pointer has no
// methods of its own.
func (g *emitter) of(t types.Type) (m methods, manual bool) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return methods{}, false
	}
	m = declared(named)
	manual = m.any()
	if _, isStruct := named.Underlying().(*types.Struct); (isStruct || manual) && g.generates(named) || isStruct &&
		!manual && !g.hasParts(named, nil) {
		if !m.copy {
			m.pointer = !isReference(named)
		}
		m.into, m.copy = true, true
	}
	return m, manual
}

// generates reports whether the missing methods of a type are generated. Another generator may write methods of types
// of this package that have no marker, unless a marker excludes them.
func (g *emitter) generates(t *types.Named) bool {
	object := t.Origin().Obj()
	if object.Pkg() != g.pkg.Types {
		return g.known.generates(object)
	}
	return object.Exported() && !g.left[object]
}

// hasParts reports whether a type can be copied part by part. Other types must have methods, possibly in files that
// were not loaded. open are the types that contain it.
func (g *emitter) hasParts(t types.Type, open []types.Type) bool {
	if isFlat(t) || slices.Contains(open, t) {
		return true
	}
	switch u := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Named:
		if m := declared(u); m.any() || copiesItself(u) {
			return true
		}
		if _, isStruct := u.Underlying().(*types.Struct); isStruct && g.generates(u) {
			return true
		}
		return g.hasParts(u.Underlying(), append(open, t))
	case *types.Struct:
		for field := range u.Fields() {
			if !isFlat(field.Type()) && !(g.sees(field) && g.hasParts(field.Type(), open)) {
				return false
			}
		}
		return true
	case *types.Map:
		return isKey(u.Key()) && g.hasParts(u.Elem(), open)
	case interface{ Elem() types.Type }:
		return g.hasParts(u.Elem(), open)
	}
	return false
}

// isFlat reports whether a shallow copy of a value is also a deep copy.
func isFlat(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Kind() != types.Invalid && t.Kind() != types.UnsafePointer
	case *types.Named:
		return isTime(t) || isFlat(t.Underlying())
	case *types.Array:
		return isFlat(t.Elem())
	case *types.Struct:
		for field := range t.Fields() {
			if !isFlat(field.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// isTime reports whether a type is time.Time, which points to an immutable time zone.
func isTime(t *types.Named) bool {
	return t.Obj().Pkg() != nil && t.Obj().Pkg().Path() == "time" && t.Obj().Name() == "Time"
}

// isPlain reports whether controller-gen treats a type as flat.
func isPlain(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic:
		return isFlat(t)
	case *types.Named:
		return isPlain(t.Underlying())
	case *types.Struct:
		for field := range t.Fields() {
			if !isPlain(field.Type()) {
				return false
			}
		}
		return true
	}
	return false
}
