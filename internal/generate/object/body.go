package object

import (
	"fmt"
	"go/types"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// body returns the statements that copy a generic type from *in to *out.
func (c *corrector) body(generic *types.Named) string {
	b := &body{corrector: c, generic: generic}
	if _, isStruct := generic.Underlying().(*types.Struct); isStruct {
		b.printf("*out = *in\n")
		b.value("in", "out", generic.Underlying())
		return b.String()
	}
	b.printf("*out = in\n")
	b.value("in", "(*out)", generic.Underlying())
	return b.String()
}

// body writes the statements of one method.
type body struct {
	strings.Builder
	*corrector
	generic *types.Named
	depth   int // of loops
}

func (b *body) printf(format string, args ...any) { fmt.Fprintf(b, format, args...) }

// name returns how the method writes a type.
func (b *body) name(t types.Type) string { return types.TypeString(t, b.qualifier) }

// value makes what is a shallow copy of in a deep one. Both are expressions of type t that have an address.
func (b *body) value(in, out string, t types.Type) {
	if isFlat(t) {
		return
	}
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		b.need("reflect", "reflect")
		b.reflects = true
		b.printf("deepCopyArgument(&%s, &%s)\n", in, out)
	case *types.Named:
		b.named(in, out, t)
	case *types.Struct:
		for field := range t.Fields() {
			b.value(in+"."+field.Name(), out+"."+field.Name(), field.Type())
		}
	default:
		b.reference(in, out, t, t)
	}
}

// named copies a value with its methods if it has them, or will have them as all structs do.
func (b *body) named(in, out string, t *types.Named) {
	_, isStruct := t.Underlying().(*types.Struct)
	into := has(b.pkg.Types, t, "DeepCopyInto")
	switch copies := has(b.pkg.Types, t, "DeepCopy"); {
	case into || isStruct && !copies:
		b.printf("%s.DeepCopyInto(&%s)\n", in, out)
	case copies:
		object, _, _ := types.LookupFieldOrMethod(t, true, b.pkg.Types, "DeepCopy")
		star := ""
		if _, pointer := object.(*types.Func).Signature().Results().At(0).Type().(*types.Pointer); pointer {
			star = "*"
		}
		b.printf("%s = %s%s.DeepCopy()\n", out, star, in)
	default:
		b.reference(in, out, t, t.Underlying())
	}
}

// has reports whether a type declares a method.
func has(in *types.Package, t types.Type, method string) bool {
	object, index, _ := types.LookupFieldOrMethod(t, true, in, method)
	_, ok := object.(*types.Func)
	return ok && len(index) == 1
}

// reference copies a pointer, list, map or array. name is the type as it was declared.
func (b *body) reference(in, out string, name, t types.Type) {
	b.depth++
	defer func() { b.depth-- }()
	key, val, copied := fmt.Sprintf("key%d", b.depth), fmt.Sprintf("val%d", b.depth), fmt.Sprintf("copied%d", b.depth)
	switch t := t.(type) {
	case *types.Pointer:
		b.printf("if %s != nil {\n%s = new(%s)\n*%s = *%s\n", in, out, b.name(t.Elem()), out, in)
		b.value("(*"+in+")", "(*"+out+")", t.Elem())
		b.printf("}\n")
	case *types.Slice:
		b.printf("if %s != nil {\n%s = make(%s, len(%s))\ncopy(%s, %s)\n", in, out, b.name(name), in, out, in)
		b.elements(in, out, t.Elem())
		b.printf("}\n")
	case *types.Array:
		b.elements(in, out, t.Elem())
	case *types.Map:
		b.printf("if %s != nil {\n%s = make(%s, len(%s))\nfor %s, %s := range %s {\n", in, out, b.name(name), in, key, val, in)
		b.printf("%s := %s\n", copied, val)
		b.value(val, copied, t.Elem())
		b.printf("%s[%s] = %s\n}\n}\n", out, key, copied)
	default:
		b.pkg.AddError(loader.ErrFromNode(fmt.Errorf("invalid type in generic type %s: %s", b.generic.Obj().Name(), t), b.generic.Obj()))
	}
}

// elements copies the elements of a list or array, which are shallow copies already.
func (b *body) elements(in, out string, elem types.Type) {
	if isFlat(elem) {
		return
	}
	i := fmt.Sprintf("i%d", b.depth)
	b.printf("for %s := range %s {\n", i, in)
	b.value(in+"["+i+"]", out+"["+i+"]", elem)
	b.printf("}\n")
}

// isFlat reports whether a shallow copy of a type is a deep one.
func isFlat(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Kind() != types.Invalid && t.Kind() != types.UnsafePointer
	case *types.TypeParam:
		return false
	case *types.Named:
		return isFlat(t.Underlying())
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

// reflected returns the functions that copy values of type arguments.
func reflected(reflect string) string {
	return strings.ReplaceAll(`
// deepCopyArgument copies a value whose type is a type argument: with its own DeepCopyInto if it has one.
func deepCopyArgument[T any](in, out *T) {
	if isNilValue(reflect.ValueOf(in).Elem()) {
		*out = *in
		return
	}
	if in, ok := any(in).(interface{ DeepCopyInto(*T) }); ok {
		in.DeepCopyInto(out)
		return
	}
	deepCopyValue(reflect.ValueOf(in).Elem(), reflect.ValueOf(out).Elem())
}

// deepCopyValue copies in to out. Both have an address, and the same type.
func deepCopyValue(in, out reflect.Value) {
	out.Set(in)
	if isNilValue(in) {
		return
	}
	if copies := in.Addr().MethodByName("DeepCopyInto"); copies.IsValid() && copies.Type().NumIn() == 1 && copies.Type().In(0) == out.Addr().Type() {
		copies.Call([]reflect.Value{out.Addr()})
		return
	}
	switch in.Kind() {
	case reflect.Pointer:
		out.Set(reflect.New(in.Type().Elem()))
		deepCopyValue(in.Elem(), out.Elem())
	case reflect.Slice:
		out.Set(reflect.MakeSlice(in.Type(), in.Len(), in.Len()))
		for i := range in.Len() {
			deepCopyValue(in.Index(i), out.Index(i))
		}
	case reflect.Array:
		for i := range in.Len() {
			deepCopyValue(in.Index(i), out.Index(i))
		}
	case reflect.Struct:
		for i := range in.NumField() {
			if out.Field(i).CanSet() {
				deepCopyValue(in.Field(i), out.Field(i))
			}
		}
	case reflect.Map:
		out.Set(reflect.MakeMapWithSize(in.Type(), in.Len()))
		for entries := in.MapRange(); entries.Next(); {
			from, to := reflect.New(in.Type().Elem()).Elem(), reflect.New(in.Type().Elem()).Elem()
			from.Set(entries.Value())
			deepCopyValue(from, to)
			out.SetMapIndex(entries.Key(), to)
		}
	}
}

// isNilValue reports whether there is nothing to copy but nil.
func isNilValue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil()
	}
	return false
}
`, "reflect.", reflect+".")
}
