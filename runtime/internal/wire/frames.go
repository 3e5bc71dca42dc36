package wire

import (
	"bytes"
	"fmt"
	"io"
)

// frames finds watch events in a body: JSON objects, one after the other, with nothing but white space between. Servers
// end each with a line break, so a frame is first taken to end there.
type frames struct {
	source
	scan    scanner
	scanned int // how much of the frame scan has seen
}

// next returns what looks like the next event, and whether it is all of it: what is not may have a line break within.
// It is valid until the next call, before which used must be called. At the end next returns io.EOF, within an event
// io.ErrUnexpectedEOF, and any other error of the body as it is.
func (f *frames) next() (frame []byte, whole bool, err error) {
	for {
		for f.start < f.end && isSpace(f.buf[f.start]) {
			f.start++
		}
		if data := f.unused(); len(data) > 0 {
			if data[0] != '{' {
				return nil, false, &Error{fmt.Errorf("it begins with %q", data[0])}
			}
			if n := bytes.IndexByte(data[f.scanned:], '\n'); n >= 0 {
				return data[:f.scanned+n], false, nil
			}
		}
		if frame := f.balanced(); frame != nil {
			return frame, true, nil
		}
		if err := f.more(); err != nil {
			return nil, false, err
		}
	}
}

// whole returns the event by its brackets, however it is broken into lines.
func (f *frames) whole() ([]byte, error) {
	for {
		if frame := f.balanced(); frame != nil {
			return frame, nil
		}
		if err := f.more(); err != nil {
			return nil, err
		}
	}
}

// balanced returns the event if the last bracket of it was read.
func (f *frames) balanced() []byte {
	data := f.unused()
	for ; f.scanned < len(data); f.scanned++ {
		if f.scan.step(data[f.scanned]) {
			return data[:f.scanned+1]
		}
	}
	return nil
}

// more reads more of the event.
func (f *frames) more() error {
	if f.end-f.start >= MaxObject {
		return &Error{errTooLong}
	}
	err := f.fill()
	if err == io.EOF && f.start < f.end {
		return io.ErrUnexpectedEOF
	}
	return err
}

// used takes note that the first n bytes of the last frame were an event.
func (f *frames) used(n int) {
	f.start += n
	f.scan, f.scanned = scanner{}, 0
}

// scanner finds the end of a JSON object. It sees to brackets and strings only.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
}

// step takes the next byte and reports whether it is the last of the object.
func (s *scanner) step(b byte) (done bool) {
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
	return s.depth == 0
}
