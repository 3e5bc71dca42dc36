package figure

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// expired is the event by which an API server ends a watch whose version it has compacted away.
const expired = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"message":"too old resource version","reason":"Expired","code":410}}` + "\n"

// initialEnd is in the event that ends the initial events of a watch, and in no other.
const initialEnd = `"k8s.io/initial-events-end"`

// expiry is a transport that can let a watch expire as an API server does, and notices when all was listed again.
type expiry struct {
	next   http.RoundTripper
	listed chan struct{} // gets a word when the initial events of a watch after the expiry have ended

	mu      sync.Mutex
	last    *watchBody
	watched bool // the watches after the expiry are looked into
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
		return errors.New("there is no watch")
	}
	e.watched = true
	e.last.expired.Store(true)
	return e.last.ReadCloser.Close()
}

// watchBody is the body of a watch: what the API server sends, and after the expiry the event that says so.
type watchBody struct {
	io.ReadCloser
	expired atomic.Bool
	said    int // bytes of expired

	listed chan<- struct{} // nil does not look for initialEnd
	tail   []byte          // of what was read, as long as it may hold a part of initialEnd
}

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.look(p[:n])
	if err == nil || !b.expired.Load() {
		return n, err
	}
	if b.said == len(expired) {
		return n, io.EOF
	}
	said := copy(p[n:], expired[b.said:])
	b.said += said
	return n + said, nil
}

// look looks for the end of the initial events in what was read, until it has found it.
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
