package object

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// writer writes the methods of one type in the style of controller-gen. In the code, in and out are pointers to the
// value and to its copy. A block that copies a part declares both again for the part.
type writer struct {
	strings.Builder
	*emitter
	of    *copiedType
	place loader.Node // copied declaration, for errors
	depth int         // nesting of the loops of [writer.value]
	// within are the named types without methods whose parts are being copied. No type occurs twice.
	within []types.Type
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// name returns a type as the file writes it.
func (w *writer) name(t types.Type) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if pkg == w.pkg.Types {
			return ""
		}
		return w.imports.need(pkg.Path())
	})
}

// fail reports that a type cannot be copied. The type checker has already reported invalid types.
func (w *writer) fail(t types.Type, why string) {
	name := types.TypeString(t, types.RelativeTo(w.pkg.Types))
	if t.Underlying() == types.Typ[types.Invalid] {
		w.pkg.AddError(loader.ErrFromNode(fmt.Errorf("invalid type %s", name), w.place))
		return
	}
	w.pkg.AddError(loader.ErrFromNode(fmt.Errorf("cannot generate a deep copy of %s: %s", name, why), w.place))
}

// root writes the body of DeepCopyInto.
func (w *writer) root() {
	if !isReference(w.of.named) {
		w.contents()
		return
	}
	w.line("{")
	w.line("in := &in")
	w.contents()
	w.line("}")
}

func (w *writer) contents() {
	if m := w.of.manual; m.copy {
		if m.pointer {
			w.line("clone := in.DeepCopy()\n*out = *clone")
		} else {
			w.line("*out = in.DeepCopy()")
		}
		return
	}
	switch t := w.of.named.Underlying().(type) {
	case *types.Struct:
		w.structure(t)
	case *types.Slice:
		w.list(w.of.name(), t)
	case *types.Map:
		w.dictionary(w.of.name(), t)
	default:
		w.line("*out = *in")
		w.value("(*in)", "(*out)", t)
	}
}

// structure copies the struct *in to *out. If only another package can copy a part, it calls a method of that package.
func (w *writer) structure(t *types.Struct) {
	for field := range t.Fields() {
		if !isFlat(field.Type()) && !w.sees(field) {
			w.line("(*%[1]s)(in).DeepCopyInto((*%[1]s)(out))", w.name(w.pkg.TypesInfo.TypeOf(w.of.spec.Type)))
			return
		}
	}
	w.line("*out = *in")
	for field := range t.Fields() {
		if field.Name() != "_" && w.sees(field) {
			if field.Pkg() == w.pkg.Types {
				w.place = field
			}
			w.field(field.Name(), field.Type())
		}
	}
}

// sees reports whether the package can access a field.
func (g *emitter) sees(field *types.Var) bool {
	return field.Exported() || field.Pkg() == g.pkg.Types
}

// field completes a shallow copy of a field to a deep copy.
func (w *writer) field(name string, t types.Type) {
	m, manual := w.emitter.of(t)
	switch _, isStruct := t.Underlying().(*types.Struct); {
	case manual && m.copy && !m.pointer:
		w.line("out.%[1]s = in.%[1]s.DeepCopy()", name)
	case manual && m.into:
		w.line("in.%[1]s.DeepCopyInto(&out.%[1]s)", name)
	case !manual && isReference(t):
		w.line("if in.%s != nil {", name)
		w.line("in, out := &in.%[1]s, &out.%[1]s", name)
		w.reference(t)
		w.line("}")
	case isStruct && !manual && isPlain(t):
		w.line("out.%[1]s = in.%[1]s", name)
	case isStruct && m.into:
		w.line("in.%[1]s.DeepCopyInto(&out.%[1]s)", name)
	default:
		w.value("in."+name, "out."+name, t)
	}
}

// reference copies *in, which is not nil, to *out.
func (w *writer) reference(t types.Type) {
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if m, _ := w.emitter.of(t); m.into && slices.Contains(w.within, types.Type(named)) {
			w.line("(*in).DeepCopyInto(out)")
			return
		}
		if !w.enter(named) {
			w.line("*out = *in")
			w.again(named, "in", "out")
			return
		}
		defer w.leave()
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		w.pointer(u.Elem())
	case *types.Slice:
		w.list(w.name(t), u)
	case *types.Map:
		w.dictionary(w.name(t), u)
	}
}

// enter begins copying the parts of a type, until leave. It returns false for a type that is a part of itself.
func (w *writer) enter(t *types.Named) bool {
	if slices.Contains(w.within, types.Type(t)) {
		return false
	}
	w.within = append(w.within, t)
	return true
}

func (w *writer) leave() { w.within = w.within[:len(w.within)-1] }

// again copies a type that is a part of itself. in and out are pointers.
func (w *writer) again(t *types.Named, in, out string) {
	if hasParameters(t) {
		w.fail(t, "it contains itself")
		return
	}
	w.line("%s(%s, %s)", w.helper(t), in, out)
}

// pointer copies the value that *in points to.
func (w *writer) pointer(elem types.Type) {
	m, manual := w.emitter.of(elem)
	switch _, isStruct := elem.Underlying().(*types.Struct); {
	case manual && m.copy && m.pointer:
		w.line("*out = (*in).DeepCopy()")
	case manual && m.copy:
		w.line("x := (*in).DeepCopy()")
		w.line("*out = &x")
	case !manual && isPlain(elem.Underlying()):
		w.line("*out = new(%s)", w.name(elem))
		w.line("**out = **in")
	case !manual && isReference(elem):
		w.line("*out = new(%s)", w.name(elem))
		w.line("if **in != nil {")
		w.line("in, out := *in, *out")
		w.reference(elem)
		w.line("}")
	case manual && m.into, isStruct && m.into:
		w.line("*out = new(%s)", w.name(elem))
		w.line("(*in).DeepCopyInto(*out)")
	default:
		w.line("*out = new(%s)", w.name(elem))
		w.line("**out = **in")
		w.value("(**in)", "(**out)", elem)
	}
}

// list copies the slice *in. name is the name of its type.
func (w *writer) list(name string, t *types.Slice) {
	elem := t.Elem()
	m, manual := w.emitter.of(elem)
	w.line("*out = make(%s, len(*in))", name)
	switch _, isStruct := elem.Underlying().(*types.Struct); {
	case !manual && isPlain(elem.Underlying()):
		w.line("copy(*out, *in)")
	case (manual || isStruct) && m.into:
		w.line("for i := range *in {")
		w.line("(*in)[i].DeepCopyInto(&(*out)[i])")
		w.line("}")
	case !manual && isReference(elem):
		w.line("for i := range *in {")
		w.line("if (*in)[i] != nil {")
		w.line("in, out := &(*in)[i], &(*out)[i]")
		w.reference(elem)
		w.line("}")
		w.line("}")
	default:
		w.line("copy(*out, *in)")
		w.elements("(*in)", "(*out)", elem)
	}
}

// dictionary copies the map *in. name is the name of its type.
func (w *writer) dictionary(name string, t *types.Map) {
	if !w.checkKey(t.Key()) {
		return
	}
	w.line("*out = make(%s, len(*in))", name)
	w.line("for key, val := range *in {")
	w.entry(t.Elem())
	w.line("}")
}

// checkKey reports whether a type is valid as the key of a copied map. If not, it reports an error.
func (w *writer) checkKey(t types.Type) bool {
	if !isKey(t) {
		w.fail(t, "the key of a map may not refer to anything")
		return false
	}
	return true
}

// isKey reports whether a type is valid as the key of a copied map. Type arguments are comparable, so they need no
// copy.
func isKey(t types.Type) bool {
	_, isParameter := types.Unalias(t).(*types.TypeParam)
	return isParameter || isFlat(t)
}

// entry copies the value val of a map.
func (w *writer) entry(elem types.Type) {
	m, manual := w.emitter.of(elem)
	pointed, isPointed := w.pointedManual(elem)
	switch _, isStruct := elem.Underlying().(*types.Struct); {
	case manual && m.copy && !m.pointer, isPointed && pointed.pointer:
		w.line("(*out)[key] = val.DeepCopy()")
	case isPointed:
		w.line("{")
		w.line("x := val.DeepCopy()")
		w.line("(*out)[key] = &x")
		w.line("}")
	case manual && m.copy:
		w.line("(*out)[key] = *val.DeepCopy()")
	case !manual && isPlain(elem):
		w.line("(*out)[key] = val")
	case !manual && isReference(elem) && !slices.Contains(w.within, types.Unalias(elem)):
		w.line("var outVal %s", w.name(elem.Underlying()))
		w.line("if val == nil {\n(*out)[key] = nil\n} else {")
		w.line("inVal := (*in)[key]")
		w.line("in, out := &inVal, &outVal")
		w.reference(elem)
		w.line("}")
		w.line("(*out)[key] = outVal")
	case isStruct && m.copy:
		w.line("(*out)[key] = *val.DeepCopy()")
	case isFlat(elem):
		w.line("(*out)[key] = val")
	default:
		w.line("copied := val")
		w.value("val", "copied", elem)
		w.line("(*out)[key] = copied")
	}
}

// pointedManual returns the methods of the type that t points to, and whether some are written by hand.
func (w *writer) pointedManual(t types.Type) (methods, bool) {
	pointer, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return methods{}, false
	}
	m, manual := w.emitter.of(pointer.Elem())
	return m, manual && m.copy
}

// value completes a shallow copy to a deep copy, for types that controller-gen cannot copy: arrays, structs without
// methods, type parameters. in and out are addressable expressions of type t.
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

// namedValue copies a value with the methods of its type, if it has any.
func (w *writer) namedValue(in, out string, t *types.Named) {
	m, _ := w.emitter.of(t)
	switch u := t.Underlying().(type) {
	case *types.Interface:
		if !copiesItself(t) {
			w.fail(t, fmt.Sprintf("an interface is copied with its method DeepCopy%[1]s() %[1]s, which it does not have",
				t.Obj().Name()))
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

// inline writes the copy of a type at this place, or calls a function if the type is a part of itself.
func (w *writer) inline(in, out string, t *types.Named, copied func()) {
	if !w.enter(t) {
		w.again(t, "&"+in, "&"+out)
		return
	}
	copied()
	w.leave()
}

// copiesItself reports whether a type is an interface with a method that deep-copies its value: DeepCopyObject for
// Object.
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

// referenceValue copies a pointer, list, map or array. t is the declared type.
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

// elements completes the shallow copies of the elements of a list or array to deep copies.
func (w *writer) elements(in, out string, elem types.Type) {
	if isFlat(elem) {
		return
	}
	i := fmt.Sprintf("i%d", w.depth)
	w.line("for %s := range %s {", i, in)
	w.value(in+"["+i+"]", out+"["+i+"]", elem)
	w.line("}")
}
