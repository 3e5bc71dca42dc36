package informer_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
)

// tap is the connection of an informer to the API server, in the hand of the test.
type tap struct {
	next    http.RoundTripper
	answers chan answer

	mu   sync.Mutex
	open []io.Closer   // the bodies of watches
	gate chan struct{} // closed lets requests pass
}

// answer is what the server said to a list or a watch.
type answer struct {
	watch  bool
	status int
}

func newTap() *tap {
	tap := &tap{answers: make(chan answer, 1024), gate: make(chan struct{})}
	close(tap.gate)
	return tap
}

func (t *tap) wrap(next http.RoundTripper) http.RoundTripper {
	t.next = next
	return t
}

func (t *tap) RoundTrip(request *http.Request) (*http.Response, error) {
	t.mu.Lock()
	gate := t.gate
	t.mu.Unlock()
	select {
	case <-gate:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	watch := request.URL.Query().Has("watch")
	if watch {
		t.mu.Lock()
		t.open = append(t.open, response.Body)
		t.mu.Unlock()
	}
	select {
	case t.answers <- answer{watch, response.StatusCode}:
	default:
	}
	return response, nil
}

// hold makes all requests wait until release.
func (t *tap) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gate = make(chan struct{})
}

func (t *tap) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.gate)
}

// cut breaks all watches that are open.
func (t *tap) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, body := range t.open {
		_ = body.Close()
	}
	t.open = nil
}

// await returns when the server has given an answer that is as wanted.
func (t *tap) await(ctx context.Context, test *testing.T, wanted answer) {
	test.Helper()
	for {
		select {
		case a := <-t.answers:
			if a == wanted {
				return
			}
		case <-ctx.Done():
			test.Fatalf("%v: the server did not answer %v", context.Cause(ctx), wanted)
		}
	}
}
