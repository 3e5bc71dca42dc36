package object

import (
	"fmt"
	"go/types"
)

// value makes what is a shallow copy of in a deep one, for types for which controller-gen has no words: arrays, structs
// without methods, type parameters. Both are expressions of type t that have an address.
func (w *writer) value(in, out string, t types.Type) {
	if isFlat(t) {
		return
	}
	switch u := types.Unalias(t).(type) {
	case *types.TypeParam:
		w.arguments = true
		w.line("deepCopyArgument(&%s, &%s)", in, out)
	case *types.Named:
		w.namedValue(in, out, u)
	case *types.Struct:
		for field := range u.Fields() {
			if field.Name() != "_" {
				w.value(in+"."+field.Name(), out+"."+field.Name(), field.Type())
			}
		}
	default:
		w.referenceValue(in, out, t, u)
	}
}

// namedValue copies a value with the methods of its type if it has them.
func (w *writer) namedValue(in, out string, t *types.Named) {
	m, _ := w.emitter.of(t)
	switch u := t.Underlying().(type) {
	case *types.Interface:
		if !copiesItself(t) {
			w.fail(t, fmt.Sprintf("an interface is copied with its method DeepCopy%[1]s() %[1]s, which it does not have", t.Obj().Name()))
			return
		}
		w.line("if %s != nil {", in)
		w.line("%s = %s.DeepCopy%s()", out, in, t.Obj().Name())
		w.line("}")
	case *types.Struct:
		switch {
		case m.into:
			w.line("%s.DeepCopyInto(&%s)", in, out)
		case m.copy && m.pointer:
			w.line("%s = *%s.DeepCopy()", out, in)
		case m.copy:
			w.line("%s = %s.DeepCopy()", out, in)
		case hasParameters(t):
			w.inline(in, out, t, func() { w.value(in, out, u) })
		default:
			w.line("%s(&%s, &%s)", w.helper(t), in, out)
		}
	default:
		switch {
		case m.copy && !m.pointer:
			w.line("%s = %s.DeepCopy()", out, in)
		case m.into:
			w.line("%s.DeepCopyInto(&%s)", in, out)
		case m.copy:
			w.line("%s = *%s.DeepCopy()", out, in)
		default:
			w.inline(in, out, t, func() { w.referenceValue(in, out, t, u) })
		}
	}
}

// inline writes the copy of a type here, or calls a function for it if this is a part of itself.
func (w *writer) inline(in, out string, t *types.Named, copied func()) {
	if !w.enter(t) {
		w.again(t, "&"+in, "&"+out)
		return
	}
	copied()
	w.leave()
}

// copiesItself reports whether a type is an interface with a method that makes a deep copy of the value that it holds:
// DeepCopyObject for Object.
func copiesItself(t *types.Named) bool {
	if !types.IsInterface(t) {
		return false
	}
	object, _, _ := types.LookupFieldOrMethod(t, false, t.Obj().Pkg(), "DeepCopy"+t.Obj().Name())
	function, ok := object.(*types.Func)
	if !ok {
		return false
	}
	parameters, results := function.Signature().Params(), function.Signature().Results()
	return parameters.Len() == 0 && results.Len() == 1 && types.Identical(results.At(0).Type(), t)
}

// referenceValue copies a pointer, list, map or array. t is the type as it was declared.
func (w *writer) referenceValue(in, out string, t, underlying types.Type) {
	w.depth++
	defer func() { w.depth-- }()
	switch u := underlying.(type) {
	case *types.Pointer:
		w.line("if %s != nil {", in)
		w.line("%s = new(%s)", out, w.name(u.Elem()))
		w.line("*%s = *%s", out, in)
		w.value("(*"+in+")", "(*"+out+")", u.Elem())
		w.line("}")
	case *types.Slice:
		w.line("if %s != nil {", in)
		w.line("%s = make(%s, len(%s))", out, w.name(t), in)
		w.line("copy(%s, %s)", out, in)
		w.elements(in, out, u.Elem())
		w.line("}")
	case *types.Array:
		w.elements(in, out, u.Elem())
	case *types.Map:
		w.mapValue(in, out, t, u)
	case *types.Interface:
		w.fail(t, "it may hold anything")
	default:
		w.fail(t, "it has nothing that could be copied")
	}
}

func (w *writer) mapValue(in, out string, t types.Type, of *types.Map) {
	if !w.checkKey(of.Key()) {
		return
	}
	key, val, copied := fmt.Sprintf("key%d", w.depth), fmt.Sprintf("val%d", w.depth), fmt.Sprintf("copied%d", w.depth)
	w.line("if %s != nil {", in)
	w.line("%s = make(%s, len(%s))", out, w.name(t), in)
	w.line("for %s, %s := range %s {", key, val, in)
	w.line("%s := %s", copied, val)
	w.value(val, copied, of.Elem())
	w.line("%s[%s] = %s", out, key, copied)
	w.line("}")
	w.line("}")
}

// elements copies the elements of a list or array, which are shallow copies already.
func (w *writer) elements(in, out string, elem types.Type) {
	if isFlat(elem) {
		return
	}
	i := fmt.Sprintf("i%d", w.depth)
	w.line("for %s := range %s {", i, in)
	w.value(in+"["+i+"]", out+"["+i+"]", elem)
	w.line("}")
}
