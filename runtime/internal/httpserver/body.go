package httpserver

import (
	"bytes"
	"errors"
	"net/http"
	"os"
)

// Whole returns the body of r. What reads it in advance makes it a reader with a method Bytes, which returns the unread rest;
// otherwise Whole reads it into buffer. The caller has it until its handler returns.
func Whole(r *http.Request, buffer *bytes.Buffer) ([]byte, error) {
	if whole, ok := r.Body.(interface{ Bytes() []byte }); ok {
		return whole.Bytes(), nil
	}
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// CodeOf returns the HTTP code for an error of reading a body.
func CodeOf(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}
