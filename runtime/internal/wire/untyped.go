package wire

import (
	"fmt"
	"reflect"
	"strconv"
)

// decodeUntyped sets v, an empty interface, to what the value at the cursor is by itself.
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

// untyped goes past a value and returns what m keeps of it: a map[string]any, []any, string, bool, int64, float64 or
// nil.
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

// untypedList returns a list, of whose elements m keeps the same. The elements are put on top of those of the lists
// around it until it is known how many they are.
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
		return nil, fmt.Errorf("%.40s is no number of 64 bits", number)
	}
	return n, nil
}
