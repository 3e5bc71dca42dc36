package wire

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// MaxObject is the length of the longest object, and of the longest watch event, that is read. The server stores nothing
// that comes near it.
const MaxObject = 16 << 20

const (
	// firstBuffer and fullBuffer are the sizes of a buffer that short objects are read through, at first and at most, and
	// bufferGrowth is by how much it grows in between.
	firstBuffer  = 4 << 10
	fullBuffer   = 256 << 10
	bufferGrowth = 8
)

// Error reports a body that is not what the API promises. Errors of the connection are not of this type.
type Error struct{ Err error }

// Error says what is wrong.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// source buffers a body.
type source struct {
	body io.Reader
	// buf[start:end] was read from body and not yet used.
	buf        []byte
	start, end int
	err        error // what ended body
	got        int   // how much the last read brought
	full       bool  // it left no room: there is more than buf is for
	// first is the buffer of that size, which is kept while there is a larger one.
	first []byte
	// spare has buffers of full size that nobody uses. Nil has none.
	spare *sync.Pool
}

// unused is what was read and not yet used. It is valid until more is read.
func (s *source) unused() []byte { return s.buf[s.start:s.end] }

// maxEmptyReads is how often in a row a body may give neither bytes nor an error.
const maxEmptyReads = 100

// fill reads more, after making room for it.
func (s *source) fill() error {
	if s.err != nil {
		return s.err
	}
	s.makeRoom()
	n, err := s.body.Read(s.buf[s.end:])
	for tries := 1; n == 0 && err == nil; tries++ {
		if tries == maxEmptyReads {
			err = io.ErrNoProgress
			break
		}
		n, err = s.body.Read(s.buf[s.end:])
	}
	s.end += n
	s.got, s.full = n, s.end == len(s.buf)
	s.err = err
	if n > 0 {
		return nil
	}
	return err
}

// makeRoom makes room in buf. It is grown when it is too short for one object, and when the body comes faster than it is
// used; it is made small again when little comes.
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

// take returns a buffer of that size, or one of full size that is there already instead of one in between.
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

// give takes back a buffer that is used no more.
func (s *source) give(buf []byte) {
	if len(buf) == fullBuffer && s.spare != nil {
		s.spare.Put((*[fullBuffer]byte)(buf))
	}
}

// close gives the buffers back. What was returned of them is not valid any more.
func (s *source) close() {
	s.give(s.buf)
	s.buf, s.first, s.start, s.end = nil, nil, 0, 0
}

// double reads until there is twice as much as now, or the end.
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

// value calls read with c before the next value of the body, which is depth levels deep in it. While there is less than
// that of it in the buffer, read fails with errShort and is called again when there is more.
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

// need reads until n bytes are unused and returns them. They stay unused.
func (s *source) need(n int) ([]byte, error) {
	for s.end-s.start < n {
		if err := s.fill(); err != nil {
			return nil, err
		}
	}
	return s.buf[s.start : s.start+n], nil
}

// chunk returns the next n bytes, which are valid until more is read.
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
