package pack

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// maxDepth is the maximum nesting depth of values.
const maxDepth = 10000

// identity is the beginning of a packed object. The body omits these fields where they follow from it.
type identity struct{ uid, version, namespace, name string }

// writer packs objects one after the other.
type writer struct {
	buf     []byte
	err     error // the error of the first value that cannot be packed
	strings *table
	object  uint32 // number of the current object
	id      identity
	keys    []string // scratch space for the keys of maps, as a stack
}

// begin prepares w for the next object.
func (w *writer) begin() {
	clear(w.keys[:cap(w.keys)])
	*w = writer{buf: w.buf[:0], strings: w.strings, object: w.object + 1, keys: w.keys[:0]}
	if cap(w.buf) > maxScratch {
		w.buf = nil
	}
}

// maxScratch is the maximum size of a buffer that is kept for the next object.
const maxScratch = 1 << 20

func (w *writer) identity(uid, version, namespace, name string) {
	w.id = identity{uid: uid, version: version, namespace: namespace, name: name}
	w.buf = appendText(appendText(w.buf, uid), version)
	w.text(namespace)
	w.buf = appendText(w.buf, name)
}

func (w *writer) byte(b byte)   { w.buf = append(w.buf, b) }
func (w *writer) uint(n uint64) { w.buf = binary.AppendUvarint(w.buf, n) }
func (w *writer) int(n int64)   { w.buf = binary.AppendVarint(w.buf, n) }

// length writes the length of a value that may be nil. Nil differs from empty.
func (w *writer) length(n int, isNil bool) {
	if isNil {
		w.uint(0)
		return
	}
	w.uint(uint64(n) + 1)
}

// bytes writes data, which may be nil.
func (w *writer) bytes(data []byte) {
	w.length(len(data), data == nil)
	w.buf = append(w.buf, data...)
}

// sortedKeys returns the keys of m in order. They are at the end of w.keys, from which the caller must remove them.
func sortedKeys[V any](w *writer, m map[string]V) []string {
	start := len(w.keys)
	for key := range m {
		w.keys = append(w.keys, key)
	}
	slices.Sort(w.keys[start:])
	return w.keys[start:]
}

// stringMap writes m with write, in the order of its keys, so that equal objects have equal bytes.
func (w *writer) stringMap(m map[string]string, write func(*writer, string)) {
	w.length(len(m), m == nil)
	keys := sortedKeys(w, m)
	for _, key := range keys {
		write(w, key)
		write(w, m[key])
	}
	w.keys = w.keys[:len(w.keys)-len(keys)]
}

func (w *writer) text(s string) {
	if n, ok := w.strings.number(s, w.object); ok {
		w.uint(uint64(n)<<2 | knownText)
		return
	}
	w.buf = appendText(w.buf, s)
}

// fail records that a value cannot be packed. Later output is ignored.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// reader reads one packed object. After a failure, all its methods return zero values.
type reader struct {
	data    string
	at      int
	depth   int
	err     error
	strings []entry
	id      identity
}

var errShort = errors.New("it ends too early")

func (r *reader) fail(format string, args ...any) { r.stop(fmt.Errorf(format, args...)) }

func (r *reader) stop(err error) {
	if r.err == nil {
		r.err = err
	}
	r.at = len(r.data)
}

// left returns the number of remaining bytes.
func (r *reader) left() int { return len(r.data) - r.at }

func (r *reader) byte() byte {
	if r.at >= len(r.data) {
		r.stop(errShort)
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *reader) uint() uint64 {
	if r.at < len(r.data) && r.data[r.at] < 0x80 {
		r.at++
		return uint64(r.data[r.at-1])
	}
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if r.err != nil {
				return 0
			}
			return n
		}
	}
	r.fail("a number has too many bits")
	return 0
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

// length returns the length of a value that has at least one byte per element. It reports false if the value is nil.
func (r *reader) length() (int, bool) {
	n := r.uint()
	if n == 0 {
		return 0, false
	}
	if n-1 > uint64(r.left()) {
		r.stop(errShort)
		return 0, false
	}
	return int(n - 1), true
}

// bytes returns a copy of the data that writer.bytes has written.
func (r *reader) bytes() []byte {
	count, ok := r.length()
	if !ok {
		return nil
	}
	return []byte(r.take(uint64(count)))
}

func (r *reader) stringMap() map[string]string {
	count, ok := r.length()
	if !ok {
		return nil
	}
	m := make(map[string]string, min(count, maxPrealloc))
	for i := 0; i < count && r.err == nil; i++ {
		key := r.text()
		m[key] = r.text()
	}
	return m
}

func (r *reader) take(n uint64) string {
	if n > uint64(r.left()) {
		r.stop(errShort)
		return ""
	}
	start := r.at
	r.at += int(n)
	return r.data[start:r.at]
}

// enter increases the nesting depth and reports whether it is permitted; leave decreases it.
func (r *reader) enter() bool {
	if r.depth++; r.depth > maxDepth {
		r.fail("it is nested deeper than %d levels", maxDepth)
	}
	return r.err == nil
}

func (r *reader) leave() { r.depth-- }

// A string begins with a number. Its two low bits are the encoding, the other bits the parameter of the encoding.
const (
	plainText   = iota // the number of bytes
	knownText          // the index in the table
	hexText            // the number of bytes, each two hexadecimal digits
	specialText        // 0: the 16 bytes of a UUID; n: the decimal number n-1

	// emptyText is the encoding of the empty text.
	emptyText = 0

	// shortestHex is the minimum length of a text in hexadecimal encoding.
	shortestHex = 16
	// longestDecimal is the maximum length of a decimal number that fits into the remaining bits, plus one.
	longestDecimal = 18
	uuidLength     = 36
)

// appendText appends s without using the table, so that equal strings have equal bytes.
func appendText[S string | []byte](b []byte, s S) []byte {
	if n, ok := decimal(s); ok {
		return binary.AppendUvarint(b, (n+1)<<2|specialText)
	}
	if isUUID(s) {
		return appendHex(binary.AppendUvarint(b, specialText), s)
	}
	if len(s) >= shortestHex && len(s)%2 == 0 && isHex(s) {
		return appendHex(binary.AppendUvarint(b, uint64(len(s)/2)<<2|hexText), s)
	}
	return append(binary.AppendUvarint(b, uint64(len(s))<<2), s...) // plainText is 0
}

// appendHex appends the bytes of the hexadecimal digits in s. It skips the dashes of a UUID.
func appendHex[S string | []byte](b []byte, s S) []byte {
	for i := 0; i < len(s); i += 2 {
		if s[i] == '-' {
			i++
		}
		b = append(b, hexValue(s[i])<<4|hexValue(s[i+1]))
	}
	return b
}

// decimal returns the number in s, if s is in canonical form.
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

// hexValue returns the value of a lower-case hexadecimal digit, or a value above 15 for any other byte.
func hexValue(b byte) byte {
	switch {
	case '0' <= b && b <= '9':
		return b - '0'
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10
	}
	return 255
}

// text returns the text at the reader's position. A plain text is a substring of the data.
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
		return hex.EncodeToString([]byte(r.take(head >> 2)))
	}
	if head>>2 > 0 {
		return strconv.FormatUint(head>>2-1, 10)
	}
	return uuid(r.take(16))
}

// known returns the table entry with that index.
func (r *reader) known(n uint64) entry {
	if n >= uint64(len(r.strings)) {
		r.fail("no string has the number %d", n)
		return entry{}
	}
	return r.strings[n]
}

// uuid returns the text of a UUID of 16 bytes, or "" for no bytes.
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

func (r *reader) skipText() {
	head := r.uint()
	switch {
	case head&3 == plainText, head&3 == hexText:
		r.take(head >> 2)
	case head == specialText:
		r.take(16)
	}
}
