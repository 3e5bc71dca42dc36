package fields

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Sample returns a spec that the schema accepts, as YAML. It does not evaluate rules.
func (m *Model) Sample() (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range m.spec.fields {
		value, _ := first(f.values()) // check has ensured that a value exists
		if err := appendNode(node, f.name, func() (*yaml.Node, error) { return f.node(value) }); err != nil {
			return nil, err
		}
	}
	return node, nil
}

func appendNode(in *yaml.Node, name string, value func() (*yaml.Node, error)) error {
	node, err := value()
	if err != nil {
		return err
	}
	key := &yaml.Node{}
	if err := key.Encode(name); err != nil { // quotes names that some YAML version does not parse as strings, such as on
		return err
	}
	in.Content = append(in.Content, key, node)
	return nil
}

// node returns a value of the field as a YAML node, with the fields of objects in order.
func (f *Field) node(value any) (*yaml.Node, error) {
	switch v := value.(type) {
	case []any:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			node, err := f.oneNode(item)
			if err != nil {
				return nil, err
			}
			list.Content = append(list.Content, node)
		}
		return list, nil
	case map[string]any:
		if !f.isMap {
			break
		}
		entries := &yaml.Node{Kind: yaml.MappingNode}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := appendNode(entries, key, func() (*yaml.Node, error) { return f.oneNode(v[key]) }); err != nil {
				return nil, err
			}
		}
		return entries, nil
	}
	return f.oneNode(value)
}

// oneNode is node for a value that is not a list or map, or for an item of one.
func (f *Field) oneNode(value any) (*yaml.Node, error) {
	node := &yaml.Node{}
	if f.object == nil {
		return node, node.Encode(value)
	}
	node.Kind = yaml.MappingNode
	for _, child := range f.object.fields {
		if v, ok := value.(map[string]any)[child.name]; ok {
			if err := appendNode(node, child.name, func() (*yaml.Node, error) { return child.node(v) }); err != nil {
				return nil, err
			}
		}
	}
	return node, nil
}

// Test has the spec of an object as Go code for a test.
type Test struct {
	// Spec is the content of a composite literal with the required fields.
	Spec string
	// Change is a statement that assigns another valid value to a field of the object in the variable object. It is empty
	// if no field can be changed.
	Change string
	// Imports are the packages that Spec and Change use, by local name.
	Imports map[string]string
}

// Test returns the spec of an object for a test. alias is the local name of the package with the types.
func (m *Model) Test(alias, object string) Test {
	t := Test{Imports: map[string]string{}}
	var lines []string
	for _, f := range m.spec.fields {
		if !f.mustBeSet() {
			continue
		}
		value, _ := first(f.values())
		code, need := f.literal(alias, value)
		maps.Copy(t.Imports, need)
		lines = append(lines, f.golang+": "+code)
	}
	t.Spec = "{" + strings.Join(lines, ", ") + "}"
	if len(lines) > 1 {
		t.Spec = "{\n" + strings.Join(lines, ",\n") + ",\n}"
	}
	for _, f := range m.spec.fields {
		if code, need, ok := f.change(alias); ok {
			maps.Copy(t.Imports, need)
			t.Change = fmt.Sprintf("%s.Spec.%s = %s", object, f.golang, code)
			break
		}
	}
	return t
}

// change returns a valid value that differs from the value in the object.
func (f *Field) change(alias string) (code string, need imports, ok bool) {
	if f.immutable || len(f.rules) > 0 || f.object != nil {
		return "", nil, false
	}
	values := take(f.values(), 3)
	had := inJSON(f.byDefault)
	if f.mustBeSet() {
		had = inJSON(values[0])
	}
	for _, value := range values {
		if inJSON(value) != had {
			code, need = f.literal(alias, value)
			return code, need, true
		}
	}
	return "", nil, false
}

// literal returns the Go expression of a value of the field.
func (f *Field) literal(alias string, value any) (string, imports) {
	item := cmp.Or(f.typeName, f.itemTypeName)
	if item != "" {
		item = alias + "." + item
	} else {
		item = f.scalar.golang
	}
	need := imports{}
	switch {
	case f.isList:
		var items []string
		for _, v := range value.([]any) {
			code, more := f.one(alias, v, false)
			items, need = append(items, code), need.with(more)
		}
		return "[]" + item + "{" + strings.Join(items, ", ") + "}", need.with(f.goImports())
	case f.isMap:
		var items []string
		entries := value.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			code, more := f.one(alias, entries[key], false)
			items, need = append(items, fmt.Sprintf("%q: %s", key, code)), need.with(more)
		}
		return "map[string]" + item + "{" + strings.Join(items, ", ") + "}", need.with(f.goImports())
	}
	return f.one(alias, value, f.isPointer())
}

// goImports returns the imports that the Go type of a scalar needs.
func (f *Field) goImports() imports {
	if f.typeName+f.itemTypeName != "" {
		return nil
	}
	return f.scalar.imports
}

// one returns the expression of a value that is not a list or map, or of a pointer to the value.
func (f *Field) one(alias string, value any, pointer bool) (code string, need imports) {
	switch {
	case f.object != nil:
		code, need = f.structLiteral(alias, value.(map[string]any))
		if pointer {
			return "&" + code, need
		}
		return code, need
	case f.scalar.literal == nil:
		return f.scalar.golang + "{}", f.scalar.imports // conditions, which are never required in a spec
	}
	code, need = f.scalar.literal(value)
	if f.itemTypeName != "" {
		if at := slices.Index(f.enum, value); at >= 0 && f.constants() != nil {
			code = alias + "." + f.constants()[at]
		} else if pointer {
			code = alias + "." + f.itemTypeName + "(" + code + ")"
		}
	} else if pointer && f.scalar.kind == kindInteger {
		code = f.scalar.golang + "(" + code + ")"
	}
	if pointer {
		code = "new(" + code + ")"
	}
	return code, need
}

func (f *Field) structLiteral(alias string, value map[string]any) (string, imports) {
	need := imports{}
	var parts []string
	for _, child := range f.object.fields {
		if v, ok := value[child.name]; ok {
			code, more := child.literal(alias, v)
			parts, need = append(parts, child.golang+": "+code), need.with(more)
		}
	}
	return alias + "." + f.typeName + "{" + strings.Join(parts, ", ") + "}", need
}
