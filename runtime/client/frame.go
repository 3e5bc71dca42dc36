package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

const (
	// maxFrame is the largest watch event that is read. The server stores nothing that comes near it.
	maxFrame = 16 << 20
	// keepBuffer is the largest buffer that is kept from one frame to the next.
	keepBuffer = 1 << 20
	// firstBuffer is the size that a buffer begins with.
	firstBuffer = 4 << 10
)

// errBadFrame is in the errors about the form of a stream, as opposed to the failure to read it.
var errBadFrame = errors.New("malformed frame")

// frameReader reads a sequence of JSON objects from a stream, as the server writes watch events: one after the other,
// with nothing but white space between.
type frameReader struct {
	body io.Reader
	// buf[start:end] was read from body and not yet returned.
	buf        []byte
	start, end int
	err        error // what ended body
}

// next returns the next frame, which is valid until the following call. At the end it returns io.EOF, within a frame
// io.ErrUnexpectedEOF, and any other error of the body as it is. A malformed frame may be returned, but never one that is
// longer than maxFrame.
func (f *frameReader) next() ([]byte, error) {
	if f.start == f.end && cap(f.buf) > keepBuffer {
		f.buf, f.start, f.end = nil, 0, 0
	}
	var scan scanner
	for at := f.start; ; {
		for ; at < f.end; at++ {
			if scan.depth == 0 && isSpace(f.buf[at]) {
				f.start = at + 1
				continue
			}
			if done, err := scan.step(f.buf[at]); err != nil {
				return nil, err
			} else if done {
				frame := f.buf[f.start : at+1]
				f.start = at + 1
				return frame, nil
			}
		}
		if f.end-f.start >= maxFrame {
			return nil, fmt.Errorf("%w: it is longer than %d bytes", errBadFrame, maxFrame)
		}
		offset := at - f.start
		if err := f.fill(); err != nil {
			if err == io.EOF && f.start < f.end {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		at = f.start + offset
	}
}

// fill reads more of the body, after making room for it.
func (f *frameReader) fill() error {
	if f.err != nil {
		return f.err
	}
	if f.start > 0 {
		f.end = copy(f.buf, f.buf[f.start:f.end])
		f.start = 0
	}
	if f.end == len(f.buf) {
		f.buf = append(f.buf, make([]byte, max(firstBuffer, len(f.buf)))...)
	}
	n, err := f.body.Read(f.buf[f.end:])
	f.end += n
	if n > 0 {
		f.err = err
		return nil
	}
	f.err = err
	return err
}

// scanner finds the end of a JSON object. It sees to brackets and strings only: whether all else is as it should be is
// for the decoder to say.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
}

// step takes the next byte and reports whether it is the last of the object.
func (s *scanner) step(b byte) (done bool, err error) {
	if s.depth == 0 && b != '{' {
		return false, fmt.Errorf("%w: it begins with %q", errBadFrame, b)
	}
	switch {
	case s.escaped:
		s.escaped = false
	case s.inString:
		switch b {
		case '\\':
			s.escaped = true
		case '"':
			s.inString = false
		}
	case b == '"':
		s.inString = true
	case b == '{' || b == '[':
		s.depth++
	case b == '}' || b == ']':
		s.depth--
	}
	return s.depth == 0, nil
}

// splitEvent returns the type and the still encoded object of a watch event. It does not look into the object, but all
// else must be well-formed, and the type and the object be given once.
func splitEvent(frame []byte) (eventType string, raw []byte, err error) {
	p := parser{data: frame}
	p.expect('{')
	for first := true; p.err == nil && !p.accept('}'); first = false {
		if !first {
			p.expect(',')
		}
		name := p.text()
		p.expect(':')
		switch {
		case name == "type" && eventType == "":
			eventType = p.text()
		case name == "object" && raw == nil:
			raw = p.value()
		case name == "type" || name == "object":
			p.fail("one " + name)
		case !json.Valid(p.value()):
			p.fail("a value")
		}
	}
	p.skipSpace()
	if p.err == nil && p.at < len(p.data) {
		p.fail("the end")
	}
	return eventType, raw, p.err
}

// parser takes the outermost level of a JSON object apart. After an error it does nothing.
type parser struct {
	data []byte
	at   int
	err  error
}

func (p *parser) fail(want string) {
	if p.err == nil {
		p.err = fmt.Errorf("offset %d: want %s", p.at, want)
	}
}

func (p *parser) skipSpace() {
	for p.at < len(p.data) && isSpace(p.data[p.at]) {
		p.at++
	}
}

// accept reports whether b comes next, and takes it then.
func (p *parser) accept(b byte) bool {
	p.skipSpace()
	if p.err != nil || p.at >= len(p.data) || p.data[p.at] != b {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(b byte) {
	if !p.accept(b) {
		p.fail(string(b))
	}
}

// text takes a string.
func (p *parser) text() string {
	raw := p.value()
	var s string
	if p.err == nil && (len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil) {
		p.fail("a string")
	}
	return s
}

// value takes any value and returns it as it is written. Only its extent is checked.
func (p *parser) value() []byte {
	p.skipSpace()
	start := p.at
	if p.err != nil || start >= len(p.data) {
		p.fail("a value")
		return nil
	}
	switch p.data[start] {
	case '{', '[', '"':
		p.skipBracketed()
	default:
		for p.at < len(p.data) && !isDelimiter(p.data[p.at]) {
			p.at++
		}
	}
	if p.at == start {
		p.fail("a value")
	}
	return p.data[start:p.at]
}

// skipBracketed goes to the end of the object, list or string that begins here.
func (p *parser) skipBracketed() {
	scan := scanner{depth: 1}
	for p.at < len(p.data) {
		_, _ = scan.step(p.data[p.at])
		p.at++
		if scan.depth == 1 && !scan.inString {
			return
		}
	}
	p.fail("the end of a value")
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }

func isDelimiter(b byte) bool { return isSpace(b) || b == ',' || b == '}' || b == ']' || b == ':' }
