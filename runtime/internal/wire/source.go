package wire

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxObject is the maximum size in bytes of an object or watch event. It is much larger than stored objects.
const MaxObject = 16 << 20

const (
	// firstBuffer and fullBuffer are the initial and the maximum size of the buffer for short objects. bufferGrowth is the
	// factor by which the buffer grows.
	firstBuffer  = 4 << 10
	fullBuffer   = 256 << 10
	bufferGrowth = 8
)

// Error reports a body that violates the API's format. Errors of the connection have other types.
type Error struct{ Err error }

// Error returns the message of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// source buffers a body.
type source struct {
	body io.Reader
	// buf[start:end] contains the data that was read from body and has not been used yet.
	buf        []byte
	start, end int
	err        error // error that ended body
	got        int   // number of bytes of the last read
	full       bool  // the last read filled buf: more data is available
	// first is the buffer of size firstBuffer, kept while a larger one is in use.
	first []byte
	// spare contains unused buffers of full size. It may be nil.
	spare *sync.Pool
}

// unused returns the data that was read and has not been used yet. It is valid until the next read.
func (s *source) unused() []byte { return s.buf[s.start:s.end] }

// maxEmptyReads is the maximum number of consecutive reads without data or an error.
const maxEmptyReads = 100

// fill makes room and reads more data.
func (s *source) fill() error {
	if s.err != nil {
		return s.err
	}
	s.makeRoom()
	s.got = 0
	for tries := 0; s.got == 0 && s.err == nil; tries++ {
		if tries == maxEmptyReads {
			s.err = io.ErrNoProgress
		} else {
			s.got, s.err = s.body.Read(s.buf[s.end:])
		}
	}
	s.end += s.got
	s.full = s.end == len(s.buf)
	if s.got > 0 {
		return nil
	}
	return s.err
}

// makeRoom makes room in buf. It grows buf if it is too small for an object, or if data arrives faster than it is used.
// It shrinks buf if little data arrives.
func (s *source) makeRoom() {
	size := len(s.buf)
	switch used := s.end - s.start; {
	case size == 0:
		size = firstBuffer
	case used == 0 && size > firstBuffer && s.got < firstBuffer:
		size = firstBuffer
	case used == 0 && size > fullBuffer:
		size = fullBuffer
	case (used == size || s.full) && size < fullBuffer:
		size = min(bufferGrowth*size, fullBuffer)
	case used == size:
		size *= 2
	}
	if size != len(s.buf) {
		buf := s.take(size)
		s.end = copy(buf, s.unused())
		s.give(s.buf)
		s.buf, s.start = buf, 0
	} else if s.start > 0 {
		s.end = copy(s.buf, s.unused())
		s.start = 0
	}
}

// take returns a buffer of that size. Instead of an intermediate size, it may return an existing buffer of full size.
func (s *source) take(size int) []byte {
	if size == firstBuffer {
		if s.first == nil {
			s.first = make([]byte, firstBuffer)
		}
		return s.first
	}
	if size <= fullBuffer && s.spare != nil {
		if spare, ok := s.spare.Get().(*[fullBuffer]byte); ok {
			return spare[:]
		}
	}
	return make([]byte, size)
}

// give makes an unused buffer available for reuse.
func (s *source) give(buf []byte) {
	if len(buf) == fullBuffer && s.spare != nil {
		s.spare.Put((*[fullBuffer]byte)(buf))
	}
}

// close releases the buffers. Data in them is no longer valid.
func (s *source) close() {
	s.give(s.buf)
	s.buf, s.first, s.start, s.end = nil, nil, 0, 0
}

// double reads until the amount of data has doubled, or until the end.
func (s *source) double() error {
	for want := 2 * max(s.end-s.start, 1); s.end-s.start < want; {
		if err := s.fill(); err != nil {
			if err == io.EOF && s.end > s.start {
				return nil
			}
			return err
		}
	}
	return nil
}

// value calls read with c at the next value of the body, which is at nesting depth depth. If the buffer does not yet
// contain the complete value, read fails with errShort and is called again with more data.
func (s *source) value(c *cursor, depth int, read func() error) error {
	for {
		ended := s.err == io.EOF
		c.reset(s.unused(), depth, ended)
		err := read()
		switch {
		case err == nil:
			s.start += c.at
			return nil
		case !errors.Is(err, errShort) || ended:
			return &Error{err}
		case s.end-s.start >= MaxObject:
			return &Error{errTooLong}
		}
		if err := s.double(); err != nil && err != io.EOF {
			return err
		}
	}
}

var errTooLong = fmt.Errorf("longer than %d bytes", MaxObject)

// need reads until n bytes are unused, and returns them without marking them as used.
func (s *source) need(n int) ([]byte, error) {
	for s.end-s.start < n {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	return s.buf[s.start : s.start+n], nil
}

// chunk returns the next n bytes, which are valid until the next read.
func (s *source) chunk(n int64) ([]byte, error) {
	if n > MaxObject {
		return nil, &Error{errTooLong}
	}
	data, err := s.need(int(n))
	if err == io.EOF {
		return nil, &Error{errShort}
	}
	s.start += len(data)
	return data, err
}
