package object

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// writer writes the methods of one type, in the words of controller-gen. In the code, in and out are pointers to the
// value that is copied and to its copy; a block that copies a part of them declares both anew.
type writer struct {
	strings.Builder
	*emitter
	of    *copiedType
	place loader.Node // what is being copied, for errors
	depth int         // of the loops of [writer.value]
	// within are the named types without methods whose parts are being copied. None begins again in itself.
	within []types.Type
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// name returns how the file writes a type.
func (w *writer) name(t types.Type) string {
	return types.TypeString(t, func(pkg *types.Package) string {
		if pkg == w.pkg.Types {
			return ""
		}
		return w.imports.need(pkg.Path())
	})
}

// fail reports that there is no way to copy a type.
func (w *writer) fail(t types.Type, why string) {
	name := types.TypeString(t, types.RelativeTo(w.pkg.Types))
	w.pkg.AddError(loader.ErrFromNode(fmt.Errorf("no deep copy can be made of %s: %s", name, why), w.place))
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

// structure copies *in to *out, which are structs. One that has what only another package can copy is copied by that.
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

// sees reports whether the package can use a field.
func (g *emitter) sees(field *types.Var) bool {
	return field.Exported() || field.Pkg() == g.pkg.Types
}

// field makes a shallow copy of a field a deep one.
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

// enter begins to copy the parts of a type, until leave. It returns false for one that is a part of itself.
func (w *writer) enter(t *types.Named) bool {
	if slices.Contains(w.within, types.Type(t)) {
		return false
	}
	w.within = append(w.within, t)
	return true
}

func (w *writer) leave() { w.within = w.within[:len(w.within)-1] }

// again copies a type that is a part of itself. Both are pointers.
func (w *writer) again(t *types.Named, in, out string) {
	if hasParameters(t) {
		w.fail(t, "it contains itself")
		return
	}
	w.line("%s(%s, %s)", w.helper(t), in, out)
}

// pointer copies what *in points to.
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

// list copies the slice *in, whose type has the given name.
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

// dictionary copies the map *in, whose type has the given name.
func (w *writer) dictionary(name string, t *types.Map) {
	if !w.checkKey(t.Key()) {
		return
	}
	w.line("*out = make(%s, len(*in))", name)
	w.line("for key, val := range *in {")
	w.entry(t.Elem())
	w.line("}")
}

// checkKey reports whether a type may be the key of a map that is copied, which is an error otherwise.
func (w *writer) checkKey(t types.Type) bool {
	if !isKey(t) {
		w.fail(t, "the key of a map may not refer to anything")
		return false
	}
	return true
}

// isKey reports whether a type may be the key of a map that is copied. Type arguments are comparable, and stay what they
// are.
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

// pointedManual returns the methods of what a type points to, and whether its DeepCopy is or complements one that is written
// by hand.
func (w *writer) pointedManual(t types.Type) (methods, bool) {
	pointer, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return methods{}, false
	}
	m, manual := w.emitter.of(pointer.Elem())
	return m, manual && m.copy
}
