package httpserver

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
)

// Posted returns the JSON body of r, a POST request with a review such as "an AdmissionReview". It reads the body into
// buffer, unless the body was read in advance and has a method Bytes for the unread rest. The result is valid until the
// handler returns. code is the HTTP status code for err.
func Posted(r *http.Request, review string, buffer *bytes.Buffer) (body []byte, code int, err error) {
	if r.Method != http.MethodPost {
		return nil, http.StatusMethodNotAllowed, fmt.Errorf("%s is sent by POST, not by %s", review, r.Method)
	}
	content := r.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(content); err != nil || media != "application/json" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("the content type is %q, want application/json", content)
	}
	if whole, ok := r.Body.(interface{ Bytes() []byte }); ok {
		return whole.Bytes(), 0, nil
	}
	if _, err := buffer.ReadFrom(r.Body); err != nil {
		_, kind, _ := strings.Cut(review, " ")
		return nil, CodeOf(err), fmt.Errorf("read the %s: %w", kind, err)
	}
	return buffer.Bytes(), 0, nil
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

// maxKept is the maximum size of a buffer that is reused.
const maxKept = 1 << 20

// Buffers are buffers for bodies and answers. The zero value is empty. It is safe for concurrent use.
type Buffers struct{ pool sync.Pool }

// Get returns an empty buffer.
func (b *Buffers) Get() *bytes.Buffer {
	if buffer, ok := b.pool.Get().(*bytes.Buffer); ok {
		return buffer
	}
	return &bytes.Buffer{}
}

// Put makes a buffer available to Get.
func (b *Buffers) Put(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxKept {
		buffer.Reset()
		b.pool.Put(buffer)
	}
}

// CountPanic counts a panic of the handler that writes w, if the server counts panics.
func CountPanic(w http.ResponseWriter) {
	if counter, ok := w.(interface{ Panicked() }); ok {
		counter.Panicked()
	}
}
