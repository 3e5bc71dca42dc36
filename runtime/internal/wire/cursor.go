package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
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
	places  map[*valueDecoder]*elements // by the decoder of the elements
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

// cursors are those that wait for their next use, with the strings that they keep. They are safe for concurrent use.
type cursors struct {
	mu   sync.Mutex
	idle []*cursor // at most maxIdle
}

// maxIdle is how many cursors wait for their next use.
const maxIdle = 4

// cursor returns a cursor, which must be given back to release.
func (c *cursors) cursor() *cursor {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		last := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return last
	}
	return &cursor{}
}

func (c *cursors) release(used *cursor) {
	used.reset(nil, 0, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) < maxIdle {
		c.idle = append(c.idle, used)
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
// or outside of ASCII. Its lowest bit that is set is in the first such byte. With a look at each byte, BenchmarkList takes a
// tenth more of the processor.
func oddBytes(x uint64) uint64 {
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return (((quote - ones) | (slash - ones) | (x - ones*' ')) | x) & highs
}

// word returns the eight bytes at i.
func word(data []byte, i int) uint64 { return binary.LittleEndian.Uint64(data[i:]) }

// scanText goes past the string at the cursor. It returns what is between the quotes, as it is written, and whether that
// is what it means: it has no escapes and is ASCII.
func (c *cursor) scanText() (raw []byte, plain bool, err error) {
	start := c.at + 1
	i := start
	plain = true
	for {
		for i+8 <= len(c.data) {
			odd := oddBytes(word(c.data, i))
			if odd != 0 {
				i += bits.TrailingZeros64(odd) / 8
				break
			}
			i += 8
		}
		if i >= len(c.data) {
			c.at = i
			return nil, false, errShort
		}
		switch b := c.data[i]; {
		case b == '"':
			c.at = i + 1
			return c.data[start:i], plain, nil
		case b == '\\':
			plain = false
			c.at = i + 1
			if err := c.escape(); err != nil {
				return nil, false, err
			}
			i = c.at
		case b < ' ':
			c.at = i
			return nil, false, c.syntax("no control character in a string")
		default:
			plain = plain && b < utf8.RuneSelf
			i++
		}
	}
}

// escape goes past what follows a backslash.
func (c *cursor) escape() error {
	if c.at >= len(c.data) {
		return errShort
	}
	switch c.data[c.at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		c.at++
		return nil
	case 'u':
		c.at++
		for range 4 {
			if c.at >= len(c.data) || hexDigit(c.data[c.at]) < 0 {
				return c.syntax("a hexadecimal digit")
			}
			c.at++
		}
		return nil
	}
	return c.syntax("an escape")
}

func hexDigit(b byte) rune {
	switch {
	case '0' <= b && b <= '9':
		return rune(b - '0')
	case 'a' <= b && b <= 'f':
		return rune(b-'a') + 10
	case 'A' <= b && b <= 'F':
		return rune(b-'A') + 10
	}
	return -1
}

// text goes past the string at the cursor and returns what it means, with U+FFFD for what is no UTF-8. The result is
// valid until the next string is read.
func (c *cursor) text() ([]byte, error) {
	raw, plain, err := c.scanText()
	if err != nil || plain {
		return raw, err
	}
	c.scratch = appendUnescaped(c.scratch[:0], raw)
	return c.scratch, nil
}

// appendUnescaped appends what raw means to b. The escapes in raw are well-formed.
func appendUnescaped(b, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			r, size := utf8.DecodeRune(raw[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		switch e := raw[i+1]; e {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, size := unicodeEscape(raw[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		default:
			b = append(b, e)
		}
		i += 2
	}
	return b
}

// unicodeEscape returns the character that raw begins with, as one \u or as a pair of them, and how long that is.
func unicodeEscape(raw []byte) (rune, int) {
	r := hexEscape(raw)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(raw) >= 12 && raw[6] == '\\' && raw[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexEscape(raw[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

func hexEscape(raw []byte) (r rune) {
	for _, b := range raw[2:6] {
		r = r<<4 | hexDigit(b)
	}
	return r
}

// number goes past the number at the cursor and returns it as it is written.
func (c *cursor) number() ([]byte, error) {
	start := c.at
	if c.at < len(c.data) && c.data[c.at] == '-' {
		c.at++
	}
	if c.at < len(c.data) && c.data[c.at] == '0' {
		c.at++
	} else if !c.digits() {
		return nil, c.syntax("a value")
	}
	if c.at < len(c.data) && c.data[c.at] == '.' {
		c.at++
		if !c.digits() {
			return nil, c.syntax("a digit")
		}
	}
	if c.at < len(c.data) && (c.data[c.at] == 'e' || c.data[c.at] == 'E') {
		c.at++
		if c.at < len(c.data) && (c.data[c.at] == '+' || c.data[c.at] == '-') {
			c.at++
		}
		if !c.digits() {
			return nil, c.syntax("a digit")
		}
	}
	if c.at == len(c.data) && !c.whole {
		return nil, errShort
	}
	return c.data[start:c.at], nil
}

// digits goes past digits and reports whether there were any.
func (c *cursor) digits() bool {
	start := c.at
	for c.at < len(c.data) && '0' <= c.data[c.at] && c.data[c.at] <= '9' {
		c.at++
	}
	return c.at > start
}

// integer returns the value of number if it is a whole one of 64 bits without a fraction and an exponent.
func integer(number []byte) (int64, bool) {
	if len(number) > 18 {
		n, err := strconv.ParseInt(string(number), 10, 64)
		return n, err == nil
	}
	digits := number
	if number[0] == '-' {
		digits = number[1:]
	}
	var n int64
	for _, b := range digits {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int64(b-'0')
	}
	if number[0] == '-' {
		n = -n
	}
	return n, true
}

const (
	// maxStrings is how many strings are kept.
	maxStrings = 1024
	// internLongest is the length of the longest string that is kept: longer ones seldom repeat.
	internLongest = 64
)

// interner keeps the strings that repeat, within an object and from object to object, so that each is allocated once.
// It is bounded: when there are too many it begins anew. Those that repeat often are soon back. The zero value is ready
// for use.
type interner struct {
	texts map[string]string
	boxes map[string]any // those that were asked for as an any
}

// text returns b as a string.
func (t *interner) text(b []byte) string {
	if len(b) == 0 || len(b) > internLongest {
		return string(b)
	}
	if text, ok := t.texts[string(b)]; ok {
		return text
	}
	switch {
	case t.texts == nil:
		t.texts = make(map[string]string)
	case len(t.texts) == maxStrings:
		clear(t.texts)
	}
	text := string(b)
	t.texts[text] = text
	return text
}

// boxed returns b as a string in an interface.
func (t *interner) boxed(b []byte) any {
	if len(b) == 0 || len(b) > internLongest {
		return string(b)
	}
	if box, ok := t.boxes[string(b)]; ok {
		return box
	}
	switch {
	case t.boxes == nil:
		t.boxes = make(map[string]any)
	case len(t.boxes) == maxStrings:
		clear(t.boxes)
	}
	text := t.text(b)
	var box any = text
	t.boxes[text] = box
	return box
}
