package pack

import (
	"encoding/hex"
	"strconv"
)

// A text begins with a number: the two low bits say how it goes on, the others how far.
const (
	plainText   = iota // that many bytes
	knownText          // the entry of the table with that number
	hexText            // that many bytes of which each is two hexadecimal digits
	specialText        // 0: the 16 bytes of a UUID; another: one more than the decimal number that it is

	// emptyText is the whole of the empty text.
	emptyText = 0

	// shortestHex is the shortest text that is looked at as hexadecimal digits.
	shortestHex = 16
	// longestDecimal is the longest text that is a decimal number of which one more fits in the bits that are left.
	longestDecimal = 18
	uuidLength     = 36
)

// appendText appends s, without the table: equal texts are equal bytes.
func appendText[S string | []byte](b []byte, s S) []byte {
	if n, ok := decimal(s); ok {
		return appendUint(b, (n+1)<<2|specialText)
	}
	if isUUID(s) {
		b = appendUint(b, specialText)
		for i := 0; i < uuidLength; i += 2 {
			if s[i] == '-' {
				i++
			}
			b = append(b, hexValue(s[i])<<4|hexValue(s[i+1]))
		}
		return b
	}
	if len(s) >= shortestHex && len(s)%2 == 0 && isHex(s) {
		b = appendUint(b, uint64(len(s)/2)<<2|hexText)
		for i := 0; i < len(s); i += 2 {
			b = append(b, hexValue(s[i])<<4|hexValue(s[i+1]))
		}
		return b
	}
	return append(appendUint(b, uint64(len(s))<<2), s...) // plainText is 0
}

// decimal returns the number that s is, written as it is always written.
func decimal[S string | []byte](s S) (n uint64, ok bool) {
	if len(s) == 0 || len(s) > longestDecimal || s[0] == '0' && len(s) > 1 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return n, true
}

func isUUID[S string | []byte](s S) bool {
	if len(s) != uuidLength {
		return false
	}
	for i := range uuidLength {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && hexValue(s[i]) > 15 {
			return false
		}
	}
	return true
}

func isHex[S string | []byte](s S) bool {
	for i := range len(s) {
		if hexValue(s[i]) > 15 {
			return false
		}
	}
	return true
}

// hexValue returns the value of a hexadecimal digit in lower case, and more than 15 for another byte.
func hexValue(b byte) byte {
	switch {
	case '0' <= b && b <= '9':
		return b - '0'
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10
	}
	return 255
}

// text returns the text at the reader. A plain one is part of what is read.
func (r *reader) text() string {
	head := r.uint()
	if head == emptyText {
		return ""
	}
	switch head & 3 {
	case plainText:
		return r.take(head >> 2)
	case knownText:
		return r.known(head >> 2).text
	case hexText:
		bytes := r.take(head >> 2)
		return hex.EncodeToString([]byte(bytes))
	}
	if head>>2 > 0 {
		return strconv.FormatUint(head>>2-1, 10)
	}
	return uuid(r.take(16))
}

// known returns the entry of the table with that number.
func (r *reader) known(n uint64) entry {
	if n >= uint64(len(r.strings)) {
		r.fail("no string has the number %d", n)
		return entry{}
	}
	return r.strings[n]
}

// uuid returns the textual form of 16 bytes, or nothing of none.
func uuid(bytes string) string {
	if bytes == "" {
		return ""
	}
	const digits = "0123456789abcdef"
	var text [uuidLength]byte
	at := 0
	for i := range len(bytes) {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text[at] = '-'
			at++
		}
		text[at], text[at+1] = digits[bytes[i]>>4], digits[bytes[i]&15]
		at += 2
	}
	return string(text[:])
}

// skipText goes past a text.
func (r *reader) skipText() {
	head := r.uint()
	switch {
	case head&3 == plainText, head&3 == hexText:
		r.take(head >> 2)
	case head == specialText:
		r.take(16)
	}
}
