package object

import "go/types"

// methods are those of a type that make deep copies of its values. The zero value has none.
type methods struct {
	into    bool // func (in *T) DeepCopyInto(out *T)
	copy    bool // func (in *T) DeepCopy() *T
	pointer bool // whether DeepCopy returns *T, and not T
}

func (m methods) any() bool { return m.into || m.copy }

// declared returns the methods that the source of a type declares. Generated files are no source.
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

// method returns the signature of a method of the type itself, and not of what it embeds.
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

// of returns the methods that a type has once all code is generated, and whether some are written by hand. A pointer has
// none of its own.
func (g *generator) of(t types.Type) (m methods, manual bool) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil {
		return methods{}, false
	}
	m = declared(named)
	manual = m.any()
	_, isStruct := named.Underlying().(*types.Struct)
	generated := false
	if object := named.Origin().Obj(); object.Pkg() == g.pkg.Types {
		generated = g.generated[object]
	} else {
		generated = (isStruct || manual) && g.known.generates(object)
	}
	if generated {
		if !m.copy {
			m.pointer = !isReference(named)
		}
		m.into, m.copy = true, true
	}
	return m, manual
}

// isFlat reports whether a shallow copy of a value is a deep one.
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

// isTime reports whether a type is time.Time, which points to a time zone that nobody changes.
func isTime(t *types.Named) bool {
	return t.Obj().Pkg() != nil && t.Obj().Pkg().Path() == "time" && t.Obj().Name() == "Time"
}

// isPlain reports whether controller-gen knows that a type is flat.
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
