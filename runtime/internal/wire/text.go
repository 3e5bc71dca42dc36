package wire

import (
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

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
