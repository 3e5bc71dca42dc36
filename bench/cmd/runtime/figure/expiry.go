package figure

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// expired is the event with which an API server ends a watch whose version was compacted.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// initialEnd occurs in the event that ends the initial events of a watch, and in no other event.
const initialEnd = `"k8s.io/initial-events-end"`

// expiry is a transport that expires a watch like an API server, and detects when the client has listed all objects
// again.
type expiry struct {
	next   http.RoundTripper
	listed chan struct{} // receives a value when the initial events of a watch after the expiry end

	mu      sync.Mutex
	last    *watchBody
	watched bool // true if watches after the expiry look for initialEnd
}

func (e *expiry) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := e.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusOK && request.URL.Query().Has("watch") {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.last = &watchBody{ReadCloser: response.Body}
		if e.watched {
			e.last.listed = e.listed
		}
		response.Body = e.last
	}
	return response, err
}

// expire ends the last watch.
func (e *expiry) expire() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		return errors.New("no watch to expire")
	}
	e.watched = true
	e.last.expired.Store(true)
	return e.last.ReadCloser.Close()
}

// watchBody is the body of a watch. It returns the API server's events and, once expired, the expired event.
type watchBody struct {
	io.ReadCloser
	expired atomic.Bool
	sent    int // bytes of expired that were returned

	listed chan<- struct{} // nil disables the search for initialEnd
	tail   []byte          // end of the last reads, which may hold a part of initialEnd
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.look(p[:n])
	if err == nil || !b.expired.Load() {
		return n, err
	}
	if b.sent == len(expired) {
		return n, io.EOF
	}
	sent := copy(p[n:], expired[b.sent:])
	b.sent += sent
	return n + sent, nil
}

// look searches the read bytes for the end of the initial events.
func (b *watchBody) look(read []byte) {
	if b.listed == nil {
		return
	}
	b.tail = append(b.tail, read[:min(len(read), len(initialEnd))]...)
	if bytes.Contains(b.tail, []byte(initialEnd)) || bytes.Contains(read, []byte(initialEnd)) {
		b.listed <- struct{}{}
		b.listed = nil
	}
	if len(read) >= len(initialEnd) {
		b.tail = append(b.tail[:0], read[len(read)-len(initialEnd):]...)
	}
}
