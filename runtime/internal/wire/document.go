package wire

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// DocumentDecoder decodes single JSON documents into Go values of one type, as a [Decoder] decodes lists. It is safe for
// concurrent use.
type DocumentDecoder struct {
	form  reflect.Type
	value *valueDecoder // nil for unstructured objects
	mask  *mask

	cursors
}

// NewDocumentDecoder returns a decoder for values of the type form. Unless they are wanted, metadata.managedFields are
// skipped.
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

// Decode sets v, which is addressable, to what data is. Nothing of v points into data. What v had before is merged, not
// emptied. Any error is an [Error].
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
		return &Error{errors.New(errShort.Error())} // more data will not come
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

// Member returns the member of that name of the JSON object that data is, as it is written. It is nil when there is none,
// and when data is no object; of several with one name it is the last.
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

// Elements returns the elements of the JSON list that data is, as they are written, and nil when it is no list.
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

// Field is a member of a struct: the Go field that a JSON name stands for.
type Field struct {
	Name  string
	Index []int // of the field, through the structs that are embedded
	Type  reflect.Type
	// OmitEmpty and OmitZero are the options of the tag that leave the member out when it is written.
	OmitEmpty, OmitZero bool
}

// Fields returns the members of the struct type t by the rules of encoding/json. It reports false for a struct that uses
// more of these rules than are known here, and for one that decodes itself: only a codec can tell its members.
func Fields(t reflect.Type) ([]Field, bool) {
	fields, ok := fieldsOf(t)
	var all []Field
	for _, f := range fields {
		all = append(all, Field{f.name, f.index, f.typ, f.omitEmpty, f.omitZero})
	}
	return all, ok && !decodesItself(t)
}
