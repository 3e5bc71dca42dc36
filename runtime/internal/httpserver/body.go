package httpserver

import (
	"bytes"
	"errors"
	"net/http"
	"os"
)

// Whole returns the body of r. If the body was read in advance, its method Bytes returns the unread rest. Otherwise
// Whole reads the body into buffer. The result is valid until the handler returns.
func Whole(r *http.Request, buffer *bytes.Buffer) ([]byte, error) {
	if whole, ok := r.Body.(interface{ Bytes() []byte }); ok {
		return whole.Bytes(), nil
	}
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// CodeOf returns the HTTP status code for an error that occurred while a body was read.
func CodeOf(err error) int {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return http.StatusRequestTimeout
	}
	return http.StatusBadRequest
}
