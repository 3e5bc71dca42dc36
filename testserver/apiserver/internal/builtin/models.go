package builtin

import (
	_ "embed"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/must"
)

// Models contains the schemas of Go types for server-side apply. Reflection determines the fields. The patch tags and
// merging.txt determine how lists and maps are merged. A schema is created at its first use, and all servers share it.
// Models is safe for concurrent use.
type Models struct {
	Scheme *runtime.Scheme

	mu    sync.Mutex
	types map[runtimeschema.GroupVersionKind]*typed.ParseableType
}

func (m *Models) typeOf(kind runtimeschema.GroupVersionKind) (*typed.ParseableType, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := m.types[kind]; t != nil {
		return t, nil
	}
	object, err := m.Scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("no corresponding type for %v", kind)
	}
	b := modelBuilder{named: map[reflect.Type]string{},
		schema: &schema.Schema{Types: []schema.TypeDef{deducedModel, untypedModel}}}
	t := (&typed.Parser{Schema: schema.Schema{}}).Type("")
	t.Schema, t.TypeRef = b.schema, b.reference(reflect.TypeOf(object).Elem())
	if m.types == nil {
		m.types = map[runtimeschema.GroupVersionKind]*typed.ParseableType{}
	}
	m.types[kind] = &t
	return &t, nil
}

// ObjectToTyped returns an object together with its schema.
func (m *Models) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	t, err := m.typeOf(object.GetObjectKind().GroupVersionKind())
	if err != nil {
		return nil, err
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		return t.FromUnstructured(u.UnstructuredContent(), options...)
	}
	return t.FromStructured(object, options...)
}

// TypedToObject returns the value as an unstructured object.
func (*Models) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	content, ok := value.AsValue().Unstructured().(map[string]any)
	if !ok {
		return nil, fmt.Errorf("failed to convert value to unstructured for type %T", value.AsValue().Unstructured())
	}
	return &unstructured.Unstructured{Object: content}, nil
}

var (
	untypedName, deducedName = "__untyped_atomic_", "__untyped_deduced_"
	untypedScalar            = schema.Untyped
	untypedModel             = schema.TypeDef{Name: untypedName, Atom: schema.Atom{
		Scalar: &untypedScalar,
		List:   &schema.List{ElementType: schema.TypeRef{NamedType: &untypedName}, ElementRelationship: schema.Atomic},
		Map:    &schema.Map{ElementType: schema.TypeRef{NamedType: &untypedName}, ElementRelationship: schema.Atomic},
	}}
	deducedModel = schema.TypeDef{Name: deducedName, Atom: schema.Atom{
		Scalar: &untypedScalar,
		List:   &schema.List{ElementType: schema.TypeRef{NamedType: &untypedName}, ElementRelationship: schema.Atomic},
		Map:    &schema.Map{ElementType: schema.TypeRef{NamedType: &deducedName}, ElementRelationship: schema.Separable},
	}}
)

// merging.txt contains the markers in the source of k8s.io/api that tags do not repeat. For a field or type, it
// contains the list type with keys, the map type, or the default. A test generates the file.
//
//go:embed merging.txt
var mergingText string

// merging returns the content of merging.txt by type or field: map keys,..., set, atomic, granular, or default and a
// JSON value.
var merging = sync.OnceValue(func() map[string]string {
	known := map[string]string{}
	for line := range strings.Lines(mergingText) {
		name, how, _ := strings.Cut(strings.TrimSpace(line), " ")
		known[name] = how
	}
	return known
})

func goName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// modelBuilder creates the schemas of a type and of all types to which it refers.
type modelBuilder struct {
	named  map[reflect.Type]string
	schema *schema.Schema
}

var scalarModels = map[reflect.Type]schema.Scalar{
	reflect.TypeFor[metav1.Time](): schema.Untyped, reflect.TypeFor[metav1.MicroTime](): schema.Untyped,
	reflect.TypeFor[resource.Quantity](): schema.Untyped,
	reflect.TypeFor[metav1.Duration]():   schema.String, reflect.TypeFor[[]byte](): schema.String,
}

func (b *modelBuilder) reference(t reflect.Type) schema.TypeRef {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[intstr.IntOrString]() { // may be a string or a number
		return schema.TypeRef{NamedType: &deducedName}
	}
	if scalar, ok := scalarModels[t]; ok {
		return schema.TypeRef{Inlined: schema.Atom{Scalar: &scalar}}
	}
	switch t.Kind() {
	case reflect.Struct:
		name := b.structure(t)
		return schema.TypeRef{NamedType: &name}
	case reflect.Slice:
		return schema.TypeRef{Inlined: schema.Atom{List: &schema.List{ElementType: b.reference(t.Elem()),
			ElementRelationship: schema.Atomic}}}
	case reflect.Map:
		return schema.TypeRef{Inlined: schema.Atom{Map: &schema.Map{ElementType: b.reference(t.Elem())}}}
	}
	scalar := schema.Numeric
	switch t.Kind() {
	case reflect.String:
		scalar = schema.String
	case reflect.Bool:
		scalar = schema.Boolean
	}
	return schema.TypeRef{Inlined: schema.Atom{Scalar: &scalar}}
}

func (b *modelBuilder) structure(t reflect.Type) string {
	if name, ok := b.named[t]; ok {
		return name
	}
	name := goName(t)
	b.named[t] = name
	model := &schema.Map{}
	switch {
	case t == reflect.TypeFor[metav1.FieldsV1]():
		model.ElementType = schema.TypeRef{NamedType: &deducedName}
	case t == reflect.TypeFor[runtime.RawExtension]():
		b.schema.Types = append(b.schema.Types, schema.TypeDef{Name: name, Atom: untypedModel.Atom})
		return name
	case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]()) ||
		reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		b.schema.Types = append(b.schema.Types, schema.TypeDef{Name: name, Atom: deducedModel.Atom})
		return name
	default:
		model.Fields = b.fields(t, t)
	}
	if merging()[name] == "atomic" {
		model.ElementRelationship = schema.Atomic
	}
	b.schema.Types = append(b.schema.Types, schema.TypeDef{Name: name, Atom: schema.Atom{Map: model}})
	return name
}

// fields returns the fields of a struct, including the fields of inlined structs.
func (b *modelBuilder) fields(t, in reflect.Type) (fields []schema.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			continue
		case name == "" && f.Anonymous:
			fields = append(fields, b.fields(f.Type, in)...)
			continue
		}
		how := merging()[goName(t)+"."+name]
		field := schema.StructField{Name: name, Type: b.reference(f.Type)}
		if list := field.Type.Inlined.List; list != nil {
			list.ElementRelationship, list.Keys = listMerging(f.Tag, how)
		}
		switch how {
		case "atomic", "granular":
			relationship := schema.Atomic
			if how == "granular" {
				relationship = schema.Separable
			}
			if field.Type.NamedType != nil {
				field.Type.ElementRelationship = &relationship
			} else if field.Type.Inlined.Map != nil {
				field.Type.Inlined.Map.ElementRelationship = relationship
			}
		}
		if value, ok := strings.CutPrefix(how, "default "); ok {
			must.Do(json.Unmarshal([]byte(value), &field.Default))
		} else if !strings.Contains(options, "omitempty") {
			field.Default = zeroDefault(f.Type)
		}
		fields = append(fields, field)
	}
	return fields
}

// zeroDefault returns the default of a field that is encoded even if it is zero.
func zeroDefault(t reflect.Type) any {
	if _, special := scalarModels[t]; special {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	case reflect.Int32, reflect.Int64, reflect.Int:
		return int64(0)
	}
	return nil
}

func listMerging(tag reflect.StructTag, how string) (schema.ElementRelationship, []string) {
	kind, keys, _ := strings.Cut(how, " ")
	switch kind {
	case "map":
		return schema.Associative, strings.Split(keys, ",")
	case "set":
		return schema.Associative, nil
	case "atomic":
		return schema.Atomic, nil
	}
	if strategy := tag.Get("patchStrategy"); strings.HasPrefix(strategy, "merge") {
		if key := tag.Get("patchMergeKey"); key != "" {
			return schema.Associative, []string{key}
		}
		return schema.Associative, nil
	}
	return schema.Atomic, nil
}
