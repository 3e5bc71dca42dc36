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

// maxDepth is the maximum nesting depth of JSON. It equals apimachinery's limit.
const maxDepth = 10000

// maxList is the maximum capacity of the list of an idle cursor.
const maxList = 1024

// errShort reports that the data ended before the value.
var errShort = errors.New("unexpected end of JSON input")

// cursor reads JSON from data. It checks the syntax of everything that it reads or skips. After a method has failed,
// the position is undefined. A method that needs more data fails with errShort.
type cursor struct {
	data  []byte
	at    int
	depth int
	// whole means that data ends where the JSON ends, so that a number may end there.
	whole bool
	// scratch contains the last unescaped string.
	scratch []byte
	strings interner
	places  map[*valueDecoder]*elements // by decoder of the elements
	// list has the elements of the untyped lists being decoded. A capacity up to maxList is kept for reuse.
	list []any
}

// reset moves the cursor to the beginning of data, which is at nesting depth depth.
func (c *cursor) reset(data []byte, depth int, whole bool) {
	c.data, c.at, c.depth, c.whole = data, 0, depth, whole
	if cap(c.scratch) > fullBuffer {
		c.scratch = nil
	}
}

// cursors are idle cursors with their strings. They are safe for concurrent use.
type cursors struct {
	mu   sync.Mutex
	idle []*cursor // at most maxIdle
}

// maxIdle is the maximum number of idle cursors.
const maxIdle = 4

// cursor returns a cursor, which must be passed to release.
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

// peek skips white space and returns the next byte.
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

// enter enters the object or list at the cursor, and reports whether it has content before end.
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

// more skips the comma after a member or an element, or the closing byte end.
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

// nextName reads the name of the next member and moves to its value. Its arguments are the results of enter or more. It
// reports false after the last member and for an error. The name is valid until the next string is read.
func (c *cursor) nextName(more bool, err error) (name []byte, ok bool, _ error) {
	if !more || err != nil {
		return nil, false, err
	}
	name, plain, err := c.scanName()
	if err != nil {
		return nil, false, err
	}
	if !plain {
		name = c.unescape(name)
	}
	_, err = c.peek()
	return name, err == nil, err
}

// scanName skips the name of a member and the colon. It returns the name as scanText does.
func (c *cursor) scanName() (raw []byte, plain bool, err error) {
	b, err := c.peek()
	if err == nil && b != '"' {
		err = c.syntax("a name")
	}
	if err != nil {
		return nil, false, err
	}
	if raw, plain, err = c.scanText(); err != nil {
		return nil, false, err
	}
	if b, err = c.peek(); err == nil && b != ':' {
		err = c.syntax("a colon")
	}
	c.at++
	return raw, plain, err
}

func (c *cursor) skip() error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	switch b {
	case '{':
		return c.skipAll('}')
	case '[':
		return c.skipAll(']')
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

// skipAll skips the object or list that ends with end.
func (c *cursor) skipAll(end byte) error {
	more, err := c.enter(end)
	for ; more && err == nil; more, err = c.more(end) {
		if end == '}' {
			if _, _, err = c.scanName(); err != nil {
				return err
			}
		}
		if err = c.skip(); err != nil {
			return err
		}
	}
	return err
}

// span skips a value and returns its text.
func (c *cursor) span() ([]byte, error) {
	if _, err := c.peek(); err != nil {
		return nil, err
	}
	start := c.at
	err := c.skip()
	return c.data[start:c.at], err
}

// end checks that only white space remains.
func (c *cursor) end() error {
	if _, err := c.peek(); err == nil {
		return c.syntax("the end")
	}
	return nil
}

// literal skips word, which must be the value at the cursor.
func (c *cursor) literal(word string) error {
	for i := range len(word) {
		if !c.accept(word[i]) {
			return c.syntax(word)
		}
	}
	return nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// oddBytes returns zero if and only if none of the eight bytes in x is a quote, a backslash, a control character or
// non-ASCII. Otherwise the lowest bit that is set belongs to the first such byte. A check of each byte would cost
// BenchmarkList a tenth more CPU time.
func oddBytes(x uint64) uint64 {
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return (((quote - ones) | (slash - ones) | (x - ones*' ')) | x) & highs
}

// word returns the eight bytes at i.
func word(data []byte, i int) uint64 { return binary.LittleEndian.Uint64(data[i:]) }

// scanText skips the string at the cursor. It returns the text between the quotes, and reports whether the text is
// plain, which means ASCII without escapes.
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

// escape skips an escape sequence after its backslash.
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

// text skips the string at the cursor and returns its unescaped value, with U+FFFD for invalid UTF-8. The result is
// valid until the next string is read.
func (c *cursor) text() ([]byte, error) {
	raw, plain, err := c.scanText()
	if err != nil || plain {
		return raw, err
	}
	return c.unescape(raw), nil
}

func (c *cursor) unescape(raw []byte) []byte {
	c.scratch = appendUnescaped(c.scratch[:0], raw)
	return c.scratch
}

// appendUnescaped appends the unescaped value of raw, whose escapes must be well-formed, to b.
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

// unicodeEscape returns the character of the \u escape, or pair of escapes, at the beginning of raw, and its length.
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

// number skips the number at the cursor and returns its text.
func (c *cursor) number() ([]byte, error) {
	start := c.at
	c.accept('-')
	if !c.accept('0') && !c.digits() {
		return nil, c.syntax("a value")
	}
	if c.accept('.') && !c.digits() {
		return nil, c.syntax("a digit")
	}
	if c.accept('e') || c.accept('E') {
		if !c.accept('+') {
			c.accept('-')
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

// accept skips b if it is the next byte, and reports whether it is.
func (c *cursor) accept(b byte) bool {
	if c.at < len(c.data) && c.data[c.at] == b {
		c.at++
		return true
	}
	return false
}

// digits skips digits and reports whether there were any.
func (c *cursor) digits() bool {
	start := c.at
	for c.at < len(c.data) && '0' <= c.data[c.at] && c.data[c.at] <= '9' {
		c.at++
	}
	return c.at > start
}

// integer returns the value of number, or false unless it is a 64-bit integer without a fraction and an exponent.
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
	// maxStrings is the maximum number of strings.
	maxStrings = 1024
	// internLongest is the maximum length of a string that is kept. Longer strings seldom repeat.
	internLongest = 64
)

// interner keeps strings that repeat within and across objects, so that each is allocated only once. Its size is
// bounded: at its limit it is emptied, and frequent strings soon return. The zero value is ready for use.
type interner struct {
	texts map[string]string
	boxes map[string]any // strings that were requested as an any
}

func (t *interner) text(b []byte) string {
	if len(b) == 0 || len(b) > internLongest {
		return string(b)
	}
	if text, ok := t.texts[string(b)]; ok {
		return text
	}
	t.texts = withRoom(t.texts)
	text := string(b)
	t.texts[text] = text
	return text
}

func (t *interner) boxed(b []byte) any {
	if len(b) == 0 || len(b) > internLongest {
		return string(b)
	}
	if box, ok := t.boxes[string(b)]; ok {
		return box
	}
	t.boxes = withRoom(t.boxes)
	text := t.text(b)
	var box any = text
	t.boxes[text] = box
	return box
}

// withRoom returns m with room for one more string.
func withRoom[V any](m map[string]V) map[string]V {
	switch {
	case m == nil:
		return make(map[string]V)
	case len(m) == maxStrings:
		clear(m)
	}
	return m
}
