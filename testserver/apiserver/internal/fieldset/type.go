package fieldset

import (
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// Type is the schema of a value: which kinds of it there may be, and how each is managed. Nobody changes it.
type Type struct {
	scalar schema.Scalar // empty when it may be none
	list   *list         // nil when it may be none
	object *object       // nil when it may be none
}

type list struct {
	element *Type
	atomic  bool
	keys    []string       // sorted; none of a set
	missing map[string]any // what stands for a key that an item does not have
}

type object struct {
	fields  map[string]*Type
	element *Type // of names that are no field; nil where these are unknown
	atomic  bool
}

// New resolves a schema.
func New(s *schema.Schema, reference schema.TypeRef) *Type {
	return resolver{s, map[string]*Type{}}.resolve(reference)
}

type resolver struct {
	schema *schema.Schema
	named  map[string]*Type
}

func (r resolver) resolve(reference schema.TypeRef) *Type {
	t := &Type{}
	if reference.NamedType != nil {
		name := *reference.NamedType
		if reference.ElementRelationship != nil {
			name += " " + string(*reference.ElementRelationship)
		}
		if known := r.named[name]; known != nil {
			return known
		}
		r.named[name] = t
	}
	atom, ok := r.schema.Resolve(reference)
	if !ok {
		return t
	}
	if atom.Scalar != nil {
		t.scalar = *atom.Scalar
	}
	if atom.List != nil {
		t.list = r.list(atom.List)
	}
	if atom.Map != nil {
		t.object = r.object(atom.Map)
	}
	return t
}

func (r resolver) list(l *schema.List) *list {
	resolved := &list{element: r.resolve(l.ElementType), atomic: l.ElementRelationship == schema.Atomic, missing: map[string]any{}}
	if !resolved.atomic && l.ElementRelationship != schema.Associative {
		return nil // the library refuses it
	}
	resolved.keys = append(resolved.keys, l.Keys...)
	slices.Sort(resolved.keys)
	element, ok := r.schema.Resolve(l.ElementType)
	for _, key := range resolved.keys {
		if !ok || element.Map == nil {
			return nil
		}
		if field, _ := element.Map.FindField(key); field.Default != nil {
			resolved.missing[key] = field.Default
		}
	}
	return resolved
}

func (r resolver) object(m *schema.Map) *object {
	resolved := &object{fields: map[string]*Type{}, atomic: m.ElementRelationship == schema.Atomic}
	for _, field := range m.Fields {
		resolved.fields[field.Name] = r.resolve(field.Type)
	}
	if element := m.ElementType; element.NamedType != nil || element.Inlined != (schema.Atom{}) {
		resolved.element = r.resolve(element)
	}
	return resolved
}

// of is the type of a member, and nil when the schema does not know it.
func (o *object) of(name string) *Type {
	if t := o.fields[name]; t != nil {
		return t
	}
	return o.element
}

// has reports whether a value is one of the scalars that the type has.
func (t *Type) has(value any) bool {
	switch value.(type) {
	case string:
		return t.scalar == schema.String || t.scalar == schema.Untyped
	case bool:
		return t.scalar == schema.Boolean || t.scalar == schema.Untyped
	case int64, float64:
		return t.scalar == schema.Numeric || t.scalar == schema.Untyped
	}
	return false
}

// conforms reports whether the library takes a value for one of the type: a strict one has no items twice.
func (t *Type) conforms(value any, strict bool) bool {
	switch value := value.(type) {
	case map[string]any:
		if t.object == nil || value == nil {
			return false
		}
		for name, member := range value {
			if of := t.object.of(name); of == nil || !of.conforms(member, strict) {
				return false
			}
		}
		return true
	case []any:
		if t.list == nil || value == nil {
			return false
		}
		for _, item := range value {
			if !t.list.element.conforms(item, strict) {
				return false
			}
			if _, ok := t.list.path(item); !ok && !t.list.atomic {
				return false
			}
		}
		if strict && !t.list.atomic {
			_, distinct := t.list.index(value)
			return distinct
		}
		return true
	}
	return t.has(value)
}

// path is the name of an item in a set of fields.
func (l *list) path(item any) (path string, ok bool) {
	if len(l.keys) == 0 {
		text, ok := scalarText(item)
		return "v:" + text, ok
	}
	object, ok := item.(map[string]any)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString("k:{")
	for _, key := range l.keys {
		value, ok := object[key]
		if !ok {
			if value, ok = l.missing[key]; !ok {
				continue
			}
		}
		text, ok := scalarText(value)
		if !ok || !plain(key) {
			return "", false
		}
		if b.Len() > len("k:{") {
			b.WriteByte(',')
		}
		b.WriteString(`"` + key + `":` + text)
	}
	b.WriteByte('}')
	return b.String(), b.Len() > len("k:{}")
}

// scalarText is a scalar as JSON, in the one way in which all encoders write it.
func scalarText(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return `"` + value + `"`, plain(value)
	case int64:
		return strconv.FormatInt(value, 10), true
	case bool:
		return strconv.FormatBool(value), true
	}
	return "", false
}

// plain reports whether no encoder escapes anything in a text.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			return false
		}
	}
	return true
}

// index is the items of a list by their paths. Two of one path are not certain.
func (l *list) index(items []any) (map[string]any, bool) {
	indexed := make(map[string]any, len(items))
	for _, item := range items {
		path, ok := l.path(item)
		if !ok {
			return nil, false
		}
		if _, twice := indexed[path]; twice {
			return nil, false
		}
		indexed[path] = item
	}
	return indexed, true
}
