package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// maxDepth is how deep values may be nested.
const maxDepth = 10000

// identity is what a packed object begins with. The body does not have it again where it can be told from that.
type identity struct{ uid, version, namespace, name string }

// writer packs one object after the other.
type writer struct {
	buf     []byte
	err     error // of the first value that cannot be packed
	strings *table
	object  uint32 // counts the objects
	id      identity
	keys    []string // scratch for the keys of maps, as a stack
}

// begin makes w ready for the next object.
func (w *writer) begin() {
	clear(w.keys[:cap(w.keys)])
	*w = writer{buf: w.buf[:0], strings: w.strings, object: w.object + 1, keys: w.keys[:0]}
	if cap(w.buf) > maxScratch {
		w.buf = nil
	}
}

// maxScratch is how large a buffer is kept for the next object.
const maxScratch = 1 << 20

func (w *writer) identity(uid, version, namespace, name string) {
	w.id = identity{uid: uid, version: version, namespace: namespace, name: name}
	w.buf = appendText(appendText(w.buf, uid), version)
	w.text(namespace)
	w.buf = appendText(w.buf, name)
}

func (w *writer) byte(b byte) { w.buf = append(w.buf, b) }

func (w *writer) uint(n uint64) { w.buf = appendUint(w.buf, n) }

func (w *writer) int(n int64) { w.buf = binary.AppendVarint(w.buf, n) }

// length writes the length of something that may be nil, which is not the same as empty.
func (w *writer) length(n int, isNil bool) {
	if isNil {
		w.uint(0)
		return
	}
	w.uint(uint64(n) + 1)
}

func (w *writer) text(s string) {
	if n, ok := w.strings.number(s, w.object); ok {
		w.uint(uint64(n)<<2 | knownText)
		return
	}
	w.buf = appendText(w.buf, s)
}

// fail notes that a value cannot be packed. What is written after that does not matter.
func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func appendUint(b []byte, n uint64) []byte { return binary.AppendUvarint(b, n) }

// reader reads one packed object. After a failure everything that it returns is zero.
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

// left returns how many bytes are left.
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

// length returns the length of something that has at least one byte for each element, and whether it is not nil.
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

// take returns the next n bytes.
func (r *reader) take(n uint64) string {
	if n > uint64(r.left()) {
		r.stop(errShort)
		return ""
	}
	start := r.at
	r.at += int(n)
	return r.data[start:r.at]
}

// enter goes one level deeper and reports whether that is possible; leave comes back.
func (r *reader) enter() bool {
	if r.depth++; r.depth > maxDepth {
		r.fail("it is nested deeper than %d levels", maxDepth)
	}
	return r.err == nil
}

func (r *reader) leave() { r.depth-- }
