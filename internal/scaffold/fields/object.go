package fields

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Sample returns a spec that the schema accepts, as YAML. It does not evaluate rules.
func (m *Model) Sample() (*yaml.Node, error) {
	spec := map[string]any{}
	for _, f := range m.spec.fields {
		spec[f.name] = f.values(1)[0] // check has ensured that a value exists
	}
	node := &yaml.Node{}
	err := node.Encode(spec)
	m.spec.sort(node)
	return node, err
}

// sort puts the fields in the YAML of an object in the order of the flags.
func (o *object) sort(node *yaml.Node) {
	pairs := slices.SortedFunc(slices.Chunk(node.Content, 2), func(a, b []*yaml.Node) int {
		return slices.Index(o.fields, o.find(a[0].Value)) - slices.Index(o.fields, o.find(b[0].Value))
	})
	for _, pair := range pairs {
		f, values := o.find(pair[0].Value), pair[1:]
		if f.collection() {
			values = pair[1].Content // and the keys of a map, which have no content
		}
		for _, value := range values {
			if f.object != nil {
				f.object.sort(value)
			}
		}
	}
	node.Content = slices.Concat(pairs...)
}

// Test has the spec of an object as Go code for a test.
type Test struct {
	// Spec is the content of a composite literal with the required fields.
	Spec string
	// Change is a statement that assigns another valid value to a field of the object in the variable object. It is empty
	// if no field can be changed.
	Change string
	// Imports are the packages of the types in Spec and Change, by local name.
	Imports map[string]string
}

// Test returns the spec of an object for a test. alias is the local name of the package with the types.
func (m *Model) Test(alias, object string) Test {
	w := &writer{alias: alias, imports: imports{}}
	t := Test{Imports: w.imports}
	var lines []string
	for _, f := range m.spec.required() {
		lines = append(lines, f.golang+": "+w.literal(f, f.values(1)[0]))
	}
	t.Spec = "{" + strings.Join(lines, ", ") + "}"
	if len(lines) > 1 {
		t.Spec = "{\n" + strings.Join(lines, ",\n") + ",\n}"
	}
	for _, f := range m.spec.fields {
		if value := f.change(); value != nil {
			t.Change = fmt.Sprintf("%s.Spec.%s = %s", object, f.golang, w.literal(f, value))
			break
		}
	}
	return t
}

// change returns a valid value that differs from the value in the object, or nil.
func (f *Field) change() any {
	if f.immutable || len(f.rules) > 0 || f.object != nil {
		return nil
	}
	values := f.values(3)
	had := f.byDefault
	if f.mustBeSet() {
		had = values[0]
	}
	for _, value := range values {
		if inJSON(value) != inJSON(had) {
			return value
		}
	}
	return nil
}

// writer writes values as Go code.
type writer struct {
	alias   string  // local name of the package with the types
	imports imports // packages of the written types
}

// literal returns the expression of a value of a field.
func (w *writer) literal(f *Field, value any) string {
	var items []string
	switch f.form {
	case list:
		for _, item := range value.([]any) {
			items = append(items, w.one(f, item, false))
		}
	case mapping:
		entries := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			items = append(items, fmt.Sprintf("%q: %s", key, w.one(f, entries[key], false)))
		}
	default:
		return w.one(f, value, f.isPointer())
	}
	return f.goType(w.alias, w.imports) + "{" + strings.Join(items, ", ") + "}"
}

// one returns the expression of a value that is not a list or map, or of a pointer to the value.
func (w *writer) one(f *Field, value any, pointer bool) string {
	if f.object != nil {
		var parts []string
		for _, child := range f.object.fields {
			if v, ok := value.(map[string]any)[child.name]; ok {
				parts = append(parts, child.golang+": "+w.literal(child, v))
			}
		}
		code := w.alias + "." + f.typeName + "{" + strings.Join(parts, ", ") + "}"
		if pointer {
			return "&" + code
		}
		return code
	}
	maps.Copy(w.imports, f.scalar.imports)
	code := f.scalar.literal(value)
	at := slices.Index(f.enum, value)
	switch {
	case at >= 0 && f.constants() != nil:
		code = w.alias + "." + f.constants()[at]
	case pointer && f.typeName != "":
		code = w.alias + "." + f.typeName + "(" + code + ")"
	case pointer && f.scalar.kind == kindInteger:
		code = f.scalar.golang + "(" + code + ")"
	}
	if pointer {
		return "new(" + code + ")"
	}
	return code
}
