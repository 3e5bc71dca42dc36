package wire

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

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

// decodeFunc sets v, which is addressable, to the value at the cursor. It merges the value over the content of v.
type decodeFunc func(c *cursor, v reflect.Value) error

// valueDecoder decodes the values of one type. It is immutable after its creation.
type valueDecoder struct{ decode decodeFunc }

// compiler creates the decoders for a type and for the types within it.
type compiler map[compileKey]*valueDecoder

type compileKey struct {
	typ  reflect.Type
	mask *mask
}

// newValueDecoder returns a decoder of the fields of t that m keeps. It fails if m contains a field that t does not
// have, or a field inside a type that has its own decoding method.
func newValueDecoder(t reflect.Type, m *mask) (*valueDecoder, error) {
	return compiler{}.compile(t, m, "")
}

// compile returns the decoder of a value of type t at path.
func (c compiler) compile(t reflect.Type, m *mask, path string) (*valueDecoder, error) {
	key := compileKey{t, m}
	if known, ok := c[key]; ok {
		return known, nil
	}
	made := &valueDecoder{} // stored before compiling the parts of t, which may include t
	c[key] = made
	if m != nil && m.only && (!transparent(t) || decodesItself(t)) {
		return nil, fmt.Errorf("mask: %s is a %s, of which single fields cannot be kept", path, t)
	}
	var err error
	made.decode, err = c.decoder(t, m, path)
	return made, err
}

// transparent reports whether single fields of a value of type t can be decoded.
func transparent(t reflect.Type) bool {
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice
}

func decodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return t.Name() != "" && (pointer.Implements(unmarshalerType) || pointer.Implements(textUnmarshalerType))
}

func (c compiler) decoder(t reflect.Type, m *mask, path string) (decodeFunc, error) {
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
		return c.structDecoder(t, m, path)
	case reflect.Pointer:
		return c.pointerDecoder(t, m, path)
	case reflect.Slice:
		return c.sliceDecoder(t, m, path)
	case reflect.Map:
		return c.mapDecoder(t, path)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return decodeUntyped, nil
		}
	case reflect.String:
		return decodeString, nil
	case reflect.Bool:
		return decodeBool, nil
	}
	if v := reflect.Zero(t); v.CanInt() || v.CanUint() || v.CanFloat() {
		return decodeNumber, nil
	}
	return decodeByCodec, nil
}

func (c compiler) structDecoder(t reflect.Type, m *mask, path string) (decodeFunc, error) {
	fields, ok := fieldsOf(t)
	if !ok {
		return wholly(within(t), t, m, path)
	}
	var table fieldTable
	known := make(map[string]bool)
	for _, f := range fields {
		known[f.Name] = true
		child, kept := m.member(f.Name)
		if !kept {
			continue
		}
		inner, err := c.compile(f.Type, child, join(path, f.Name))
		if err != nil {
			return nil, err
		}
		for len(table) <= len(f.Name) {
			table = append(table, nil)
		}
		table[len(f.Name)] = append(table[len(f.Name)], decodedField{name: f.Name, index: f.Index, decoder: inner})
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

// wholly returns decode for a type whose fields cannot be decoded separately. It fails if m keeps only some fields.
func wholly(decode decodeFunc, t reflect.Type, m *mask, path string) (decodeFunc, error) {
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

func (c compiler) pointerDecoder(t reflect.Type, m *mask, path string) (decodeFunc, error) {
	// The codec calls methods that an unnamed struct embeds for a pointer to such a struct, not for the struct.
	promotes := t.Elem().Name() == "" && t.NumMethod() > 0
	if t.Name() != "" || promotes || t.Elem().Kind() == reflect.Pointer || t.Elem().Kind() == reflect.Interface {
		return wholly(decodeByCodec, t, m, path)
	}
	elem, err := c.compile(t.Elem(), m, path)
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

func (c compiler) sliceDecoder(t reflect.Type, m *mask, path string) (decodeFunc, error) {
	elem, err := c.compile(t.Elem(), m, path)
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

func (c compiler) mapDecoder(t reflect.Type, path string) (decodeFunc, error) {
	key := t.Key()
	if key.Kind() != reflect.String || reflect.PointerTo(key).Implements(textUnmarshalerType) {
		return decodeByCodec, nil
	}
	if t.ConvertibleTo(stringMapType) {
		return decodeStringMap, nil
	}
	elem, err := c.compile(t.Elem(), nil, path)
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

// decodeByMethod calls the value's own decoding method.
func decodeByMethod(c *cursor, v reflect.Value) error {
	span, err := c.span()
	if err != nil {
		return err
	}
	return v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(span)
}

// within returns the decoder for a struct of type t inside another value. The codec always calls the decoding method of
// a pointer, but calls the method of a struct only if t is named.
func within(t reflect.Type) decodeFunc {
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

// decodeByCodec decodes a value of a rare type with apimachinery's codec.
func decodeByCodec(c *cursor, v reflect.Value) error {
	span, err := c.span()
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(span, v.Addr().Interface())
}

// Field is a member of a struct: a Go field with its JSON name.
type Field struct {
	Name  string
	Index []int // index of the field, through embedded structs
	Type  reflect.Type
	// OmitEmpty and OmitZero are the options of the tag that omit the member from output.
	OmitEmpty, OmitZero bool

	tagged bool // the name comes from a tag
}

// Fields returns the members of the struct type t by the rules of encoding/json. It reports false for a struct with
// unsupported features, and for a struct with its own decoding method, whose members are unknown.
func Fields(t reflect.Type) ([]Field, bool) {
	fields, ok := fieldsOf(t)
	return fields, ok && !decodesItself(t)
}

// fieldsOf returns the members of the struct type t by the rules of encoding/json. It reports false for a struct with
// features that are not supported here, which are quoted values and embedded pointers.
func fieldsOf(t reflect.Type) ([]Field, bool) {
	all, ok := appendFields(nil, t, nil)
	byName := make(map[string][]Field)
	for _, f := range all {
		byName[f.Name] = append(byName[f.Name], f)
	}
	var fields []Field
	for _, f := range all {
		if best, found := dominant(byName[f.Name]); found && slices.Equal(best.Index, f.Index) {
			fields = append(fields, f)
		}
	}
	return fields, ok
}

func appendFields(fields []Field, t reflect.Type, prefix []int) ([]Field, bool) {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, tagged := sf.Tag.Lookup("json")
		if tag == "-" || !sf.IsExported() && !sf.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if !isValidName(name) {
			name = ""
		}
		index := append(append([]int{}, prefix...), i)
		switch {
		case tagged && strings.Contains(","+options+",", ",string,"):
			return nil, false
		case sf.Anonymous && (sf.Type.Kind() == reflect.Pointer || !sf.IsExported()):
			return nil, false
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			var ok bool
			if fields, ok = appendFields(fields, sf.Type, index); !ok {
				return nil, false
			}
			continue
		}
		fields = append(fields, Field{
			Name: cmp.Or(name, sf.Name), Index: index, Type: sf.Type, tagged: name != "",
			OmitEmpty: strings.Contains(","+options+",", ",omitempty,"),
			OmitZero:  strings.Contains(","+options+",", ",omitzero,"),
		})
	}
	return fields, true
}

// dominant returns the field that a name refers to. This is the least nested field or, if there are several, the only
// one with a tag. If several fields remain, no field has the name.
func dominant(fields []Field) (Field, bool) {
	best, count := fields[0], 1
	for _, f := range fields[1:] {
		switch {
		case len(f.Index) > len(best.Index), len(f.Index) == len(best.Index) && best.tagged && !f.tagged:
		case len(f.Index) == len(best.Index) && f.tagged == best.tagged:
			count++
		default:
			best, count = f, 1
		}
	}
	return best, count == 1
}

// isValidName reports whether encoding/json accepts name in a tag.
func isValidName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// fieldTable finds fields by name, grouped by the length of the name.
type fieldTable [][]decodedField

type decodedField struct {
	name    string
	index   []int
	decoder *valueDecoder
}

func (t fieldTable) find(name []byte) *decodedField {
	if len(name) >= len(t) {
		return nil
	}
	same := t[len(name)]
	for i := range same {
		if same[i].name == string(name) {
			return &same[i]
		}
	}
	return nil
}
