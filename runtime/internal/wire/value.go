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
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return nameErr
		}
		if f := fields.find(name); f == nil {
			err = c.skip()
		} else {
			member := v.Field(f.index[0])
			for _, i := range f.index[1:] {
				member = member.Field(i)
			}
			err = f.decoder.decode(c, member)
		}
		if err == nil {
			more, err = c.more('}')
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
	place.moveTo(v)
	return nil
}

func decodeMap(c *cursor, v reflect.Value, elem *valueDecoder) error {
	t := v.Type()
	if v.IsNil() {
		v.Set(reflect.MakeMap(t))
	}
	value := reflect.New(t.Elem()).Elem()
	key := reflect.New(t.Key()).Elem()
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return nameErr
		}
		key.SetString(c.strings.text(name))
		value.SetZero()
		if err = elem.decode(c, value); err == nil {
			v.SetMapIndex(key, value)
			more, err = c.more('}')
		}
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
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return nameErr
		}
		key := c.strings.text(name)
		if c.data[c.at] != '"' {
			if null, nullErr := c.null(); nullErr != nil || !null {
				return c.mismatch(reflect.ValueOf(key))
			}
			m[key] = ""
		} else {
			value, textErr := c.text()
			if textErr != nil {
				return textErr
			}
			m[key] = c.strings.text(value)
		}
		more, err = c.more('}')
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

// scalarDecoder returns the decoder for kind k. It reports false unless values of k consist of one token.
func scalarDecoder(k reflect.Kind) (func(*cursor, reflect.Value) error, bool) {
	switch k {
	case reflect.String:
		return decodeString, true
	case reflect.Bool:
		return decodeBool, true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return decodeUint, true
	case reflect.Float32, reflect.Float64:
		return decodeFloat, true
	}
	return nil, false
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

// figure skips the number at the cursor and returns it, or nil for null.
func (c *cursor) figure(v reflect.Value) ([]byte, error) {
	b, err := c.peek()
	if err != nil {
		return nil, err
	}
	if b != '-' && (b < '0' || b > '9') {
		return nil, c.mismatch(v)
	}
	return c.number()
}

func decodeInt(c *cursor, v reflect.Value) error {
	number, err := c.figure(v)
	if err != nil || number == nil {
		return err
	}
	n, ok := integer(number)
	if !ok || v.OverflowInt(n) {
		return fmt.Errorf("%.40s is no %s", number, v.Type())
	}
	v.SetInt(n)
	return nil
}

func decodeUint(c *cursor, v reflect.Value) error {
	number, err := c.figure(v)
	if err != nil || number == nil {
		return err
	}
	n, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil || v.OverflowUint(n) {
		return fmt.Errorf("%.40s is no %s", number, v.Type())
	}
	v.SetUint(n)
	return nil
}

func decodeFloat(c *cursor, v reflect.Value) error {
	number, err := c.figure(v)
	if err != nil || number == nil {
		return err
	}
	n, err := strconv.ParseFloat(string(number), v.Type().Bits())
	if err != nil || v.OverflowFloat(n) {
		return fmt.Errorf("%.40s is no %s", number, v.Type())
	}
	v.SetFloat(n)
	return nil
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

// moveTo moves the elements to v, which has no capacity.
func (e *elements) moveTo(v reflect.Value) {
	n := e.slice.Len()
	v.Grow(n)
	v.SetLen(n)
	reflect.Copy(v, e.slice)
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
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return nil, nameErr
		}
		key := c.strings.text(name)
		if child, kept := m.member(key); !kept {
			err = c.skip()
		} else {
			object[key], err = c.untyped(child)
		}
		if err == nil {
			more, err = c.more('}')
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
