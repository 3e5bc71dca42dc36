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
	for member, ok, _ := c.nextName(c.enter('}')); ok; member, ok, _ = c.nextName(c.more('}')) {
		same := string(member) == name // before the next string
		span, err := c.span()
		if err != nil {
			break
		}
		if same {
			found = span
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
	for ; more && err == nil; more, err = c.more(']') {
		span, err := c.span()
		if err != nil {
			break
		}
		elements = append(elements, span)
	}
	return elements
}
