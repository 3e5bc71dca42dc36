package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

var (
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType          = reflect.TypeFor[json.Number]()
	timeType            = reflect.TypeFor[metav1.Time]()
	stringMapType       = reflect.TypeFor[map[string]string]()
)

// plan is how a value of one type is decoded. It is made once and then only read.
type plan struct {
	// decode sets v, which is addressable, to the value at the cursor, over what it holds.
	decode func(c *cursor, v reflect.Value) error
}

// planner makes the plans of a type and of the types within it.
type planner struct {
	plans map[planKey]*plan
}

type planKey struct {
	typ  reflect.Type
	mask *mask
}

// newPlan returns the plan for the fields of t that m keeps. It fails when m names a field that t does not have, or one
// that is decoded by the type's own code.
func newPlan(t reflect.Type, m *mask) (*plan, error) {
	return planner{make(map[planKey]*plan)}.plan(t, m, "")
}

// plan returns the plan for a value of type t at path.
func (p planner) plan(t reflect.Type, m *mask, path string) (*plan, error) {
	key := planKey{t, m}
	if known, ok := p.plans[key]; ok {
		return known, nil
	}
	made := &plan{} // before the plans of what t consists of, which may be t again
	p.plans[key] = made
	if m != nil && m.only && (!transparent(t) || decodesItself(t)) {
		return nil, fmt.Errorf("mask: %s is a %s, of which single fields cannot be kept", path, t)
	}
	var err error
	made.decode, err = p.decoder(t, m, path)
	return made, err
}

// transparent reports whether the fields of a value of type t can be told apart.
func transparent(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice
}

func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return t.Name() != "" && (pointer.Implements(unmarshalerType) || pointer.Implements(textUnmarshalerType))
}

func (p planner) decoder(t reflect.Type, m *mask, path string) (func(*cursor, reflect.Value) error, error) {
	switch {
	case t == timeType:
		return decodeTime, nil
	case t.Name() != "" && reflect.PointerTo(t).Implements(unmarshalerType):
		return decodeByMethod, nil
	case t == numberType, decodesItself(t):
		return decodeByCodec, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return p.structDecoder(t, m, path)
	case reflect.Pointer:
		return p.pointerDecoder(t, m, path)
	case reflect.Slice:
		return p.sliceDecoder(t, m, path)
	case reflect.Map:
		return p.mapDecoder(t, path)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return decodeUntyped, nil
		}
	}
	if decode, ok := scalarDecoder(t.Kind()); ok {
		return decode, nil
	}
	return decodeByCodec, nil
}

func (p planner) structDecoder(t reflect.Type, m *mask, path string) (func(*cursor, reflect.Value) error, error) {
	fields, ok := fieldsOf(t)
	if !ok {
		return wholly(within(t), t, m, path)
	}
	var table fieldTable
	known := make(map[string]bool)
	for _, f := range fields {
		known[f.name] = true
		child, kept := m.member(f.name)
		if !kept {
			continue
		}
		inner, err := p.plan(f.typ, child, join(path, f.name))
		if err != nil {
			return nil, err
		}
		table.add(plannedField{name: f.name, index: f.index, plan: inner})
	}
	if m != nil && m.only {
		for name := range m.fields {
			if !known[name] {
				return nil, fmt.Errorf("mask: %s has no field %s", t, join(path, name))
			}
		}
	}
	return func(c *cursor, v reflect.Value) error { return decodeStruct(c, v, table) }, nil
}

// wholly returns decode for a type whose fields are not told apart. It fails if m keeps only some of them.
func wholly(decode func(*cursor, reflect.Value) error, t reflect.Type, m *mask, path string) (func(*cursor, reflect.Value) error, error) {
	if m != nil && m.only {
		return nil, fmt.Errorf("mask: %s is a %s, of which single fields cannot be kept", path, t)
	}
	return decode, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (p planner) pointerDecoder(t reflect.Type, m *mask, path string) (func(*cursor, reflect.Value) error, error) {
	// A struct without a name has methods by embedding. The codec calls those of a pointer to one, and not those of one.
	promotes := t.Elem().Name() == "" && t.NumMethod() > 0
	if t.Name() != "" || promotes || t.Elem().Kind() == reflect.Pointer || t.Elem().Kind() == reflect.Interface {
		return wholly(decodeByCodec, t, m, path)
	}
	elem, err := p.plan(t.Elem(), m, path)
	if err != nil {
		return nil, err
	}
	return func(c *cursor, v reflect.Value) error {
		if null, err := c.null(); null || err != nil {
			v.SetZero()
			return err
		}
		if v.IsNil() {
			v.Set(reflect.New(t.Elem()))
		}
		return elem.decode(c, v.Elem())
	}, nil
}

func (p planner) sliceDecoder(t reflect.Type, m *mask, path string) (func(*cursor, reflect.Value) error, error) {
	elem, err := p.plan(t.Elem(), m, path)
	if err != nil {
		return nil, err
	}
	bytes := t.Elem().Kind() == reflect.Uint8
	return func(c *cursor, v reflect.Value) error {
		switch b, err := c.peek(); {
		case err != nil:
			return err
		case b == '[':
			return decodeSlice(c, v, elem)
		case b == '"' && bytes:
			return decodeBytes(c, v)
		}
		return c.nullOr(v)
	}, nil
}

func (p planner) mapDecoder(t reflect.Type, path string) (func(*cursor, reflect.Value) error, error) {
	key := t.Key()
	if key.Kind() != reflect.String || reflect.PointerTo(key).Implements(textUnmarshalerType) {
		return decodeByCodec, nil
	}
	if t.ConvertibleTo(stringMapType) {
		return decodeStringMap, nil
	}
	elem, err := p.plan(t.Elem(), nil, path)
	if err != nil {
		return nil, err
	}
	return func(c *cursor, v reflect.Value) error {
		if b, err := c.peek(); err != nil || b != '{' {
			return c.nullOr(v)
		}
		return decodeMap(c, v, elem)
	}, nil
}

// decodeByMethod lets the value decode itself.
func decodeByMethod(c *cursor, v reflect.Value) error {
	span, err := c.span()
	if err != nil {
		return err
	}
	return v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(span)
}

// within returns how the codec decodes a value of the struct type t within another one. It does not ask such a value to
// decode itself unless t has a name, while it asks whatever it gets a pointer to.
func within(t reflect.Type) func(*cursor, reflect.Value) error {
	if t.Name() != "" || reflect.PointerTo(t).NumMethod() == 0 {
		return decodeByCodec
	}
	list := reflect.ArrayOf(1, t)
	return func(c *cursor, v reflect.Value) error {
		span, err := c.span()
		if err != nil {
			return err
		}
		only := reflect.New(list)
		only.Elem().Index(0).Set(v)
		if err = utiljson.Unmarshal(slices.Concat([]byte("["), span, []byte("]")), only.Interface()); err == nil {
			v.Set(only.Elem().Index(0))
		}
		return err
	}
}

// decodeByCodec lets apimachinery's codec decode a value, because it is of a kind that is too rare to be known here.
func decodeByCodec(c *cursor, v reflect.Value) error {
	span, err := c.span()
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(span, v.Addr().Interface())
}
