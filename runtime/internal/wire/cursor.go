package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDepth is how deep JSON may be nested, which is apimachinery's bound.
const maxDepth = 10000

// maxList is how many elements there is room for in a cursor that waits.
const maxList = 1024

// errShort says that the data ended before the value did.
var errShort = errors.New("unexpected end of JSON input")

// cursor reads JSON from data. It checks the syntax of all that it passes. A method that fails leaves it where it is
// of no use; one that needs more data fails with errShort.
type cursor struct {
	data  []byte
	at    int
	depth int
	// whole says that data ends where the JSON does, so that a number may end there too.
	whole bool
	// scratch is where a string is unescaped, until the next one is.
	scratch []byte
	strings interner
	places  map[*plan]*elements // by the plan of the elements
	// list has the elements of the untyped lists that are being decoded. It is kept up to maxList elements.
	list []any
}

// reset puts the cursor at the beginning of data, which is depth levels deep in the JSON.
func (c *cursor) reset(data []byte, depth int, whole bool) {
	c.data, c.at, c.depth, c.whole = data, 0, depth, whole
	if cap(c.scratch) > fullBuffer {
		c.scratch = nil
	}
}

// syntax returns an error about the byte at the cursor.
func (c *cursor) syntax(want string) error {
	if c.at >= len(c.data) {
		return errShort
	}
	return fmt.Errorf("invalid character %q at offset %d, want %s", c.data[c.at], c.at, want)
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }

// peek goes to the next byte that is no white space and returns it.
func (c *cursor) peek() (byte, error) {
	for c.at < len(c.data) {
		b := c.data[c.at]
		if b > ' ' || !isSpace(b) {
			return b, nil
		}
		c.at++
	}
	return 0, errShort
}

// enter goes into the object or list that begins at the cursor, which open is, and reports whether there is anything in
// it before end.
func (c *cursor) enter(end byte) (more bool, err error) {
	c.at++
	if c.depth++; c.depth > maxDepth {
		return false, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	b, err := c.peek()
	if err == nil && b == end {
		c.at++
		c.depth--
		return false, nil
	}
	return true, err
}

// more goes past the comma after a member or an element, or past the end that end is.
func (c *cursor) more(end byte) (bool, error) {
	b, err := c.peek()
	switch {
	case err != nil:
		return false, err
	case b == ',':
		c.at++
		return true, nil
	case b == end:
		c.at++
		c.depth--
		return false, nil
	}
	return false, c.syntax("a comma or " + string(end))
}

// name reads the name of a member and the colon after it, and goes to the value. The name is valid until the next string
// is read.
func (c *cursor) name() ([]byte, error) {
	b, err := c.peek()
	if err != nil {
		return nil, err
	}
	if b != '"' {
		return nil, c.syntax("a name")
	}
	name, err := c.text()
	if err != nil {
		return nil, err
	}
	if b, err = c.peek(); err != nil {
		return nil, err
	}
	if b != ':' {
		return nil, c.syntax("a colon")
	}
	c.at++
	_, err = c.peek()
	return name, err
}

// skip goes past a value.
func (c *cursor) skip() error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	switch b {
	case '{':
		return c.skipObject()
	case '[':
		return c.skipList()
	case '"':
		_, _, err = c.scanText()
		return err
	case 't':
		return c.literal("true")
	case 'f':
		return c.literal("false")
	case 'n':
		return c.literal("null")
	}
	_, err = c.number()
	return err
}

func (c *cursor) skipObject() error {
	more, err := c.enter('}')
	for more && err == nil {
		if err = c.skipName(); err != nil {
			return err
		}
		if err = c.skip(); err != nil {
			return err
		}
		more, err = c.more('}')
	}
	return err
}

func (c *cursor) skipName() error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	if b != '"' {
		return c.syntax("a name")
	}
	if _, _, err = c.scanText(); err != nil {
		return err
	}
	if b, err = c.peek(); err != nil {
		return err
	}
	if b != ':' {
		return c.syntax("a colon")
	}
	c.at++
	return nil
}

func (c *cursor) skipList() error {
	more, err := c.enter(']')
	for more && err == nil {
		if err = c.skip(); err != nil {
			return err
		}
		more, err = c.more(']')
	}
	return err
}

// span goes past a value and returns it as it is written.
func (c *cursor) span() ([]byte, error) {
	if _, err := c.peek(); err != nil {
		return nil, err
	}
	start := c.at
	err := c.skip()
	return c.data[start:c.at], err
}

// end checks that nothing but white space is left.
func (c *cursor) end() error {
	if _, err := c.peek(); err == nil {
		return c.syntax("the end")
	}
	return nil
}

// literal goes past word, which the value at the cursor must be.
func (c *cursor) literal(word string) error {
	if len(c.data)-c.at >= len(word) && string(c.data[c.at:c.at+len(word)]) == word {
		c.at += len(word)
		return nil
	}
	for i := 0; i < len(word) && c.at < len(c.data) && c.data[c.at] == word[i]; i++ {
		c.at++
	}
	return c.syntax(word)
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// oddBytes returns a word that is zero iff none of the eight bytes in x is a quote, a backslash, a control character
// or outside of ASCII. Its lowest bit that is set is in the first such byte.
func oddBytes(x uint64) uint64 {
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return (((quote - ones) | (slash - ones) | (x - ones*' ')) | x) & highs
}

// word returns the eight bytes at i.
func word(data []byte, i int) uint64 { return binary.LittleEndian.Uint64(data[i:]) }
