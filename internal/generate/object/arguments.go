package object

import "strings"

// argumentCopies returns the functions that copy values of type arguments, which only reflection knows.
func argumentCopies(reflect string) string {
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
