package log

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// NewHandler returns a handler that replaces each API object in a record with the object's kind, namespace and name,
// and passes the record to next. A logger with this handler does not reveal the data of a Secret. Use [Full] to log an
// object completely.
//
// An object is one of the following: a value with the methods of metav1.Object or runtime.Object, including methods
// with pointer receivers; an apply configuration; or a map[string]any with apiVersion and kind. The handler finds
// objects in the values of attributes and groups, in the results of a LogValuer, and in pointers, slices, arrays, maps
// and the fields of structs. It logs a struct that contains an object as a map of its exported fields. It does not
// follow pointers in unexported fields, which are not printed and may change concurrently. In values that contain
// objects, it replaces data below ten levels with its type. It does not change errors, strings, and parts of objects,
// such as a spec or the data of a Secret: the caller has logged those explicitly.
//
// If next was returned by NewHandler, it is returned unchanged.
func NewHandler(next slog.Handler) slog.Handler {
	if done, ok := next.(*handler); ok {
		return done
	}
	return &handler{next}
}

// Brief returns logger with a handler that [NewHandler] returns, or logger itself if it already has one.
func Brief(logger *slog.Logger) *slog.Logger {
	if _, done := logger.Handler().(*handler); done {
		return logger
	}
	return slog.New(NewHandler(logger.Handler()))
}

type handler struct{ slog.Handler }

func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	plain := true
	record.Attrs(func(a slog.Attr) bool {
		switch a.Value.Kind() {
		case slog.KindAny, slog.KindGroup, slog.KindLogValuer:
			plain = false // it may contain an object
		}
		return plain
	})
	if plain {
		return h.Handler.Handle(ctx, record)
	}
	brief := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		brief.AddAttrs(briefAttr(a))
		return true
	})
	return h.Handler.Handle(ctx, brief)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(briefAttrs(attrs))}
}

func (h *handler) WithGroup(name string) slog.Handler { return &handler{h.Handler.WithGroup(name)} }

// Full returns v as an attribute value that the handler of [NewHandler] does not change:
//
//	log.FromContext(ctx).Debug("read", "deployment", log.Full(deployment))
func Full(v any) slog.LogValuer { return full{v} }

type full struct{ value any }

// LogValue implements slog.LogValuer for other handlers.
func (f full) LogValue() slog.Value { return slog.AnyValue(f.value) }

func briefAttrs(attrs []slog.Attr) []slog.Attr {
	all := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		all[i] = briefAttr(a)
	}
	return all
}

func briefAttr(a slog.Attr) slog.Attr {
	if v, ok := a.Value.Any().(full); ok {
		return slog.Any(a.Key, v.value)
	}
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(briefAttrs(v.Group())...)}
	case slog.KindAny:
		return slog.Attr{Key: a.Key, Value: briefValue(v)}
	}
	return slog.Attr{Key: a.Key, Value: v}
}

func briefValue(v slog.Value) slog.Value {
	if _, isError := v.Any().(error); isError || v.Any() == nil {
		return v
	}
	value := reflect.ValueOf(v.Any())
	if !holdsObject(value, maxDepth) {
		return v
	}
	short := brief(value, maxDepth)
	if one, ok := short.(identity); ok {
		attrs := []slog.Attr{slog.String("kind", one.Kind), slog.String("namespace", one.Namespace),
			slog.String("name", one.Name)}
		return slog.GroupValue(slices.DeleteFunc(attrs, func(a slog.Attr) bool { return a.Value.String() == "" })...)
	}
	return slog.AnyValue(short)
}

// maxDepth is the number of levels of pointers, slices, maps and structs that are searched.
const maxDepth = 10

// identity is the logged form of an object.
type identity struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// String returns the identity as a string. It is used when a value contains several objects.
func (i identity) String() string {
	switch {
	case i.Name == "":
		return i.Kind
	case i.Namespace == "":
		return i.Kind + " " + i.Name
	}
	return i.Kind + " " + i.Namespace + "/" + i.Name
}

var (
	metaObject    = reflect.TypeFor[metav1.Object]()
	runtimeObject = reflect.TypeFor[runtime.Object]()
	configuration = reflect.TypeFor[applyConfiguration]()
	rawExtension  = reflect.TypeFor[runtime.RawExtension]()
	errorType     = reflect.TypeFor[error]()
)

// applyConfiguration has the common methods of apply configurations.
type applyConfiguration interface {
	GetKind() *string
	GetNamespace() *string
	GetName() *string
}

// isObject reports whether values of a type are objects.
func isObject(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Pointer:
	default:
		t = reflect.PointerTo(t)
	}
	return t.Elem() == rawExtension || t.Implements(metaObject) || t.Implements(runtimeObject) ||
		t.Implements(configuration)
}

// holdsObject reports whether v is or contains an object, or may contain one below the searched levels.
func holdsObject(v reflect.Value, depth int) bool {
	if !v.IsValid() || isEmpty(v) {
		return false
	}
	t := v.Type()
	if isObject(t) || isContent(v) {
		return true
	}
	if t.Implements(errorType) && v.Kind() != reflect.Interface {
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return depth == 0 || holdsObject(v.Elem(), depth-1)
	case reflect.Slice, reflect.Array:
		if isScalar(t.Elem()) {
			return false
		}
		for i := range v.Len() {
			if depth == 0 || holdsObject(v.Index(i), depth-1) {
				return true
			}
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			if depth == 0 || holdsObject(key, depth-1) || holdsObject(value, depth-1) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := t.Field(i)
			switch {
			case isScalar(field.Type):
			case !field.IsExported() && !field.Anonymous:
				if printsObject(v.Field(i), depth-1) {
					return true
				}
			case depth == 0 || holdsObject(v.Field(i), depth-1):
				return true
			}
		}
	}
	return false
}

// printsObject reports whether printing v, the value of an unexported field, may print an object. A pointer is printed
// as an address. The target of a pointer and the content of slices and maps may change concurrently, so they are judged
// by their types.
func printsObject(v reflect.Value, depth int) bool {
	if v.Kind() == reflect.Interface {
		return !v.IsNil() && (depth < 0 || printsObject(v.Elem(), depth-1))
	}
	if v.Type().Implements(errorType) {
		return false
	}
	if depth < 0 || isObject(v.Type()) {
		return true
	}
	switch v.Kind() {
	case reflect.Array:
		for i := range v.Len() {
			if !isScalar(v.Type().Elem()) && printsObject(v.Index(i), depth-1) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if printsObject(v.Field(i), depth-1) {
				return true
			}
		}
	case reflect.Slice, reflect.Map:
		return mayHoldObject(v.Type(), depth)
	}
	return false
}

// mayHoldObject reports whether printing a value of type t may print an object.
func mayHoldObject(t reflect.Type, depth int) bool {
	if isScalar(t) || t.Implements(errorType) {
		return false
	}
	if depth < 0 || isObject(t) {
		return true
	}
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Map:
		return mayHoldObject(t.Key(), depth-1) || mayHoldObject(t.Elem(), depth-1)
	case reflect.Slice, reflect.Array:
		return mayHoldObject(t.Elem(), depth-1)
	case reflect.Struct:
		for i := range t.NumField() {
			if mayHoldObject(t.Field(i).Type, depth-1) {
				return true
			}
		}
	}
	return false
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Chan, reflect.Func:
		return v.IsNil()
	}
	return false
}

func isScalar(t reflect.Type) bool {
	return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}

// isContent reports whether v is the content of an unstructured object.
func isContent(v reflect.Value) bool {
	return textAt(v, "kind") != "" && textAt(v, "apiVersion") != ""
}

// valueAt returns the value in m under that key, or the zero value if m is not a map with such a key.
func valueAt(m reflect.Value, key string) reflect.Value {
	if m.Kind() != reflect.Map || m.Type().Key().Kind() != reflect.String {
		return reflect.Value{}
	}
	v := m.MapIndex(reflect.ValueOf(key).Convert(m.Type().Key()))
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// textAt returns the string in m under that key, or "".
func textAt(m reflect.Value, key string) string {
	if v := valueAt(m, key); v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

// brief returns the logged form of v, which was not reached through an unexported field.
func brief(v reflect.Value, depth int) any {
	switch {
	case !v.IsValid() || isEmpty(v):
		return nil
	case isObject(v.Type()):
		return identify(v)
	case isContent(v):
		metadata := valueAt(v, "metadata")
		return identity{Kind: textAt(v, "kind"), Namespace: textAt(metadata, "namespace"), Name: textAt(metadata, "name")}
	case !holdsObject(v, depth):
		return v.Interface()
	case depth == 0:
		return v.Type().String()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		all := make([]any, v.Len())
		for i := range all {
			all[i] = brief(v.Index(i), depth-1)
		}
		return all
	case reflect.Map:
		all := make(map[string]any, v.Len())
		for key, value := range v.Seq2() {
			all[fmt.Sprint(brief(key, depth-1))] = brief(value, depth-1)
		}
		return all
	case reflect.Struct:
		all := map[string]any{}
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				all[field.Name] = brief(v.Field(i), depth-1)
			}
		}
		return all
	}
	return brief(v.Elem(), depth-1)
}

// identify returns the identity of an object, or of a pointer to one.
func identify(v reflect.Value) identity {
	if v.Kind() != reflect.Pointer {
		pointer := reflect.New(v.Type())
		pointer.Elem().Set(v)
		v = pointer
	}
	id := identity{Kind: v.Type().Elem().Name()}
	o := v.Interface()
	if typed, ok := o.(runtime.Object); ok {
		if kind := typed.GetObjectKind().GroupVersionKind().Kind; kind != "" {
			id.Kind = kind
		}
	}
	switch o := o.(type) {
	case applyConfiguration:
		id.Kind, id.Namespace, id.Name = deref(o.GetKind(), id.Kind), deref(o.GetNamespace(), ""), deref(o.GetName(), "")
	default:
		if accessor, err := meta.Accessor(o); err == nil {
			id.Namespace, id.Name = accessor.GetNamespace(), accessor.GetName()
		}
	}
	return id
}

func deref(text *string, unset string) string {
	if text == nil {
		return unset
	}
	return *text
}
