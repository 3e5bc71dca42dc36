package wire

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DocumentDecoder decodes single JSON documents into Go values of one type. It is safe for concurrent use.
type DocumentDecoder struct {
	form  reflect.Type
	value *valueDecoder // nil for unstructured objects
	mask  *mask

	cursors
}

// NewDocumentDecoder returns a decoder for values of type form. managedFields keeps metadata.managedFields.
func NewDocumentDecoder(form reflect.Type, managedFields bool) (*DocumentDecoder, error) {
	m, err := newMask(nil, managedFields)
	if err != nil {
		return nil, err
	}
	d := &DocumentDecoder{form: form, mask: m}
	if form != reflect.TypeFor[unstructured.Unstructured]() {
		d.value, err = newValueDecoder(form, m)
	}
	return d, err
}

// Decode decodes data into v, which must be addressable. v does not refer to data afterwards. The content of v is
// merged, not cleared. All errors are of type [Error].
func (d *DocumentDecoder) Decode(data []byte, v reflect.Value) error {
	c := d.cursor()
	defer d.release(c)
	c.reset(data, 0, true)
	err := d.decode(c, v)
	if err == nil {
		err = c.end()
	}
	switch {
	case errors.Is(err, errShort):
		return &Error{errors.New(errShort.Error())} // because the data ends here
	case err != nil:
		return &Error{err}
	}
	return nil
}

func (d *DocumentDecoder) decode(c *cursor, v reflect.Value) error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	if b != '{' {
		return fmt.Errorf("want a JSON object, got %.40q", c.data[c.at:])
	}
	if d.value != nil {
		return d.value.decode(c, v)
	}
	members, err := c.untypedObject(d.mask)
	v.Addr().Interface().(*unstructured.Unstructured).Object = members
	return err
}

// Member returns the text of the member with that name in the JSON object data. If there are several, it returns the
// last one. It returns nil if there is none, or if data is not an object.
func Member(data []byte, name string) []byte {
	c := cursor{data: data, whole: true}
	if b, err := c.peek(); err != nil || b != '{' {
		return nil
	}
	var found []byte
	more, err := c.enter('}')
	for more && err == nil {
		member, nameErr := c.name()
		if nameErr != nil {
			return nil
		}
		same := string(member) == name
		var span []byte
		if span, err = c.span(); err == nil && same {
			found = span
		}
		if err == nil {
			more, err = c.more('}')
		}
	}
	return found
}

// Elements returns the JSON of each element of the JSON list data, or nil if data is not a list.
func Elements(data []byte) [][]byte {
	c := cursor{data: data, whole: true}
	if b, err := c.peek(); err != nil || b != '[' {
		return nil
	}
	elements := [][]byte{}
	more, err := c.enter(']')
	for more && err == nil {
		var span []byte
		if span, err = c.span(); err == nil {
			elements = append(elements, span)
			more, err = c.more(']')
		}
	}
	return elements
}

// Field is a member of a struct: a Go field with its JSON name.
type Field struct {
	Name  string
	Index []int // index of the field, through embedded structs
	Type  reflect.Type
	// OmitEmpty and OmitZero are the options of the tag that omit the member from output.
	OmitEmpty, OmitZero bool
}

// Fields returns the members of the struct type t by the rules of encoding/json. It reports false for a struct with
// unsupported features, and for a struct with its own decoding method, whose members are unknown.
func Fields(t reflect.Type) ([]Field, bool) {
	fields, ok := fieldsOf(t)
	var all []Field
	for _, f := range fields {
		all = append(all, Field{f.name, f.index, f.typ, f.omitEmpty, f.omitZero})
	}
	return all, ok && !decodesItself(t)
}
