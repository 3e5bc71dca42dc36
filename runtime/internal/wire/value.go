package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// null skips a null value and reports whether there was one.
func (c *cursor) null() (bool, error) {
	b, err := c.peek()
	if err != nil || b != 'n' {
		return false, err
	}
	return true, c.literal("null")
}

// nullOr sets v to nil if the value is null. Otherwise it fails, because the value does not fit v.
func (c *cursor) nullOr(v reflect.Value) error {
	null, err := c.null()
	if err != nil {
		return err
	}
	if !null {
		return c.mismatch(v)
	}
	v.SetZero()
	return nil
}

// mismatch fails because the value does not fit v. If the value is null, it leaves v unchanged and does not fail.
func (c *cursor) mismatch(v reflect.Value) error {
	if null, err := c.null(); null || err != nil {
		return err
	}
	start := c.at
	span, err := c.span()
	if err != nil {
		return err
	}
	return fmt.Errorf("cannot unmarshal %.40q at offset %d into a %s", span, start, v.Type())
}

func decodeStruct(c *cursor, v reflect.Value, fields fieldTable) error {
	if b, err := c.peek(); err != nil || b != '{' {
		return c.mismatch(v)
	}
	name, ok, err := c.nextName(c.enter('}'))
	for ; ok; name, ok, err = c.nextName(c.more('}')) {
		if f := fields.find(name); f == nil {
			err = c.skip()
		} else {
			member := v.Field(f.index[0])
			for _, i := range f.index[1:] {
				member = member.Field(i)
			}
			err = f.decoder.decode(c, member)
		}
		if err != nil {
			return err
		}
	}
	return err
}

// decodeSlice decodes into the elements within the capacity of v, without clearing them, and then into new elements. In
// this way, members that occur twice are merged.
func decodeSlice(c *cursor, v reflect.Value, elem *valueDecoder) error {
	more, err := c.enter(']')
	if err != nil {
		return err
	}
	if !more {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return nil
	}
	if v.Cap() == 0 {
		if place := c.elements(elem, v.Type()); place != nil {
			defer place.release()
			return decodeElements(c, v, elem, place)
		}
	}
	n := 0
	for ; more && err == nil; n++ {
		if n >= v.Cap() {
			v.Grow(1)
		}
		if n >= v.Len() {
			v.SetLen(n + 1)
		}
		if err = elem.decode(c, v.Index(n)); err == nil {
			more, err = c.more(']')
		}
	}
	v.SetLen(n)
	return err
}

// decodeElements decodes the elements of a slice, at least one, into v, which has no capacity.
func decodeElements(c *cursor, v reflect.Value, elem *valueDecoder, place *elements) error {
	for more := true; more; {
		err := elem.decode(c, place.next())
		if err == nil {
			more, err = c.more(']')
		}
		if err != nil {
			return err
		}
	}
	n := place.slice.Len()
	v.Grow(n) // v has no capacity
	v.SetLen(n)
	reflect.Copy(v, place.slice)
	return nil
}

func decodeMap(c *cursor, v reflect.Value, elem *valueDecoder) error {
	t := v.Type()
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	value := reflect.New(t.Elem()).Elem()
	key := reflect.New(t.Key()).Elem()
	name, ok, err := c.nextName(c.enter('}'))
	for ; ok; name, ok, err = c.nextName(c.more('}')) {
		key.SetString(c.strings.text(name))
		value.SetZero()
		if err = elem.decode(c, value); err != nil {
			return err
		}
		v.SetMapIndex(key, value)
	}
	return err
}

func decodeStringMap(c *cursor, v reflect.Value) error {
	if b, err := c.peek(); err != nil || b != '{' {
		return c.nullOr(v)
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	m := v.Convert(stringMapType).Interface().(map[string]string)
	name, ok, err := c.nextName(c.enter('}'))
	for ; ok; name, ok, err = c.nextName(c.more('}')) {
		key := c.strings.text(name)
		if c.data[c.at] != '"' {
			if null, err := c.null(); err != nil || !null {
				return c.mismatch(reflect.ValueOf(key))
			}
			m[key] = ""
			continue
		}
		value, err := c.text()
		if err != nil {
			return err
		}
		m[key] = c.strings.text(value)
	}
	return err
}

func decodeBytes(c *cursor, v reflect.Value) error {
	text, err := c.text()
	if err != nil {
		return err
	}
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	v.SetBytes(decoded[:n])
	return err
}

// decodeTime does what UnmarshalJSON of metav1.Time does, but does not copy the usual input.
func decodeTime(c *cursor, v reflect.Value) error {
	span, err := c.span()
	if err != nil {
		return err
	}
	into := v.Addr().Interface().(*metav1.Time)
	if span[0] == '"' {
		var t time.Time
		if t.UnmarshalText(span[1:len(span)-1]) == nil {
			into.Time = t.Local()
			return nil
		}
	}
	return json.Unmarshaler(into).UnmarshalJSON(span)
}

func decodeString(c *cursor, v reflect.Value) error {
	if b, err := c.peek(); err != nil || b != '"' {
		return c.mismatch(v)
	}
	text, err := c.text()
	if err != nil {
		return err
	}
	v.SetString(c.strings.text(text))
	return nil
}

func decodeBool(c *cursor, v reflect.Value) error {
	b, err := c.peek()
	switch {
	case err != nil:
		return err
	case b == 't':
		v.SetBool(true)
		return c.literal("true")
	case b == 'f':
		v.SetBool(false)
		return c.literal("false")
	}
	return c.mismatch(v)
}

func decodeNumber(c *cursor, v reflect.Value) error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	if b != '-' && (b < '0' || b > '9') {
		return c.mismatch(v)
	}
	number, err := c.number()
	if err == nil && !setNumber(v, number) {
		err = fmt.Errorf("%.40s is no %s", number, v.Type())
	}
	return err
}

// setNumber sets v to the value of number, and reports whether v can have that value.
func setNumber(v reflect.Value, number []byte) bool {
	switch {
	case v.CanInt():
		n, ok := integer(number)
		if !ok || v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(string(number), 10, 64)
		if err != nil || v.OverflowUint(n) {
			return false
		}
		v.SetUint(n)
	default:
		n, err := strconv.ParseFloat(string(number), v.Type().Bits())
		if err != nil || v.OverflowFloat(n) {
			return false
		}
		v.SetFloat(n)
	}
	return true
}

// maxElements is the maximum size in bytes of a buffer for elements that is kept.
const maxElements = 8 << 10

// elements is the buffer in which a cursor decodes the elements of a slice until their number is known. The slice is
// then allocated once, in its final size.
type elements struct {
	slice reflect.Value // an empty slice, unless it is in use
	used  bool          // elements are being decoded, so a nested slice needs another buffer
}

// elements returns the buffer for elements of slices of type t, which elem decodes, or nil if that buffer is in use.
func (c *cursor) elements(elem *valueDecoder, t reflect.Type) *elements {
	e, ok := c.places[elem]
	if !ok {
		if c.places == nil {
			c.places = make(map[*valueDecoder]*elements)
		}
		e = &elements{slice: reflect.New(t).Elem()}
		c.places[elem] = e
	}
	if e.used {
		return nil
	}
	e.used = true
	return e
}

// next returns the next element, which is zero.
func (e *elements) next() reflect.Value {
	n := e.slice.Len()
	if n == e.slice.Cap() {
		e.slice.Grow(1)
	}
	e.slice.SetLen(n + 1)
	return e.slice.Index(n)
}

func (e *elements) release() {
	e.used = false
	if uintptr(e.slice.Cap())*e.slice.Type().Elem().Size() > maxElements {
		e.slice.SetZero()
		return
	}
	e.slice.Clear()
	e.slice.SetLen(0)
}

// decodeUntyped sets v, an empty interface, to the untyped value at the cursor.
func decodeUntyped(c *cursor, v reflect.Value) error {
	value, err := c.untyped(nil)
	if err != nil {
		return err
	}
	if value == nil {
		v.SetZero()
		return nil
	}
	v.Set(reflect.ValueOf(value))
	return nil
}

// untyped skips a value and returns the part of it that m keeps: a map[string]any, []any, string, bool, int64, float64
// or nil.
func (c *cursor) untyped(m *mask) (any, error) {
	b, err := c.peek()
	if err != nil {
		return nil, err
	}
	switch b {
	case '{':
		return c.untypedObject(m)
	case '[':
		return c.untypedList(m)
	case '"':
		text, err := c.text()
		if err != nil {
			return nil, err
		}
		return c.strings.boxed(text), nil
	case 't':
		return true, c.literal("true")
	case 'f':
		return false, c.literal("false")
	case 'n':
		return nil, c.literal("null")
	}
	return c.untypedNumber()
}

func (c *cursor) untypedObject(m *mask) (map[string]any, error) {
	object := make(map[string]any)
	name, ok, err := c.nextName(c.enter('}'))
	for ; ok; name, ok, err = c.nextName(c.more('}')) {
		key := c.strings.text(name)
		if child, kept := m.member(key); !kept {
			err = c.skip()
		} else {
			object[key], err = c.untyped(child)
		}
		if err != nil {
			return nil, err
		}
	}
	return object, err
}

// untypedList returns a list, with m applied to each element. Until the number of elements is known, they are collected
// behind the elements of the enclosing lists.
func (c *cursor) untypedList(m *mask) ([]any, error) {
	bottom := len(c.list)
	more, err := c.enter(']')
	for more && err == nil {
		var element any
		if element, err = c.untyped(m); err == nil {
			c.list = append(c.list, element)
			more, err = c.more(']')
		}
	}
	list := make([]any, len(c.list)-bottom)
	copy(list, c.list[bottom:])
	clear(c.list[bottom:])
	c.list = c.list[:bottom]
	if cap(c.list) > maxList && bottom == 0 {
		c.list = nil
	}
	return list, err
}

func (c *cursor) untypedNumber() (any, error) {
	number, err := c.number()
	if err != nil {
		return nil, err
	}
	if n, ok := integer(number); ok {
		return n, nil
	}
	n, err := strconv.ParseFloat(string(number), 64)
	if err != nil {
		return nil, fmt.Errorf("%.40s is not a 64-bit number", number)
	}
	return n, nil
}
