package apiserver

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	"github.com/kctrl-dev/kctrl/testserver/apiserver/internal/store"
)

// transport passes requests to a handler in this process. It uses no sockets, because the time in a synctest bubble
// stops while a goroutine waits for a socket.
type transport struct {
	begin    beginner
	ctx      context.Context // ends with the server
	requests *sync.WaitGroup
	server   *Server // the server of HandleWebhooks; nil for a webhook's transport
}

// beginner answers a request that needs no wait. Otherwise it returns the handler that answers the request, and the
// request with the information that was added until then.
type beginner func(w http.ResponseWriter, r *http.Request) (*http.Request, http.HandlerFunc)

// waits returns the beginner for a handler that may wait.
func waits(handler http.Handler) beginner {
	return func(_ http.ResponseWriter, r *http.Request) (*http.Request, http.HandlerFunc) {
		return r, handler.ServeHTTP
	}
}

// RoundTrip serves a request. It serves a request that needs no wait immediately, and any other request in a goroutine.
// The goroutine ends when the request's context ends, the server is closed, or the response's body is closed. RoundTrip
// returns when the handler flushes or ends.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	served := asServed(request)
	err := request.Context().Err()
	if t.ctx.Err() != nil {
		err = store.ErrClosed
	}
	w := &response{header: http.Header{}, bare: request.Method == http.MethodHead}
	w.progress.L = &w.mu
	var rest http.HandlerFunc
	if err == nil {
		served, rest, err = t.tryAtOnce(w, served)
	}
	if err != nil || rest == nil {
		_ = served.Body.Close()
	}
	switch {
	case err != nil:
		return nil, err
	case rest == nil:
		w.end()
		return w.result(request)
	}
	t.serve(w, served, rest)
	select {
	case <-w.started:
	case <-request.Context().Done():
		w.cancel()
		return nil, request.Context().Err()
	}
	return w.result(request)
}

// asServed returns a request in the form that a handler receives.
func asServed(request *http.Request) *http.Request {
	served := request.WithContext(request.Context())
	served.RequestURI, served.RemoteAddr, served.Proto, served.ProtoMajor, served.ProtoMinor = request.URL.RequestURI(),
		"127.0.0.1:0", "HTTP/1.1", 1, 1
	if served.Host == "" {
		served.Host = request.URL.Host
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	return served
}

func (t *transport) tryAtOnce(w *response, r *http.Request) (served *http.Request, rest http.HandlerFunc, err error) {
	served = r
	defer func() {
		if problem := recover(); problem != nil {
			err = panicked(problem)
		}
	}()
	served, rest = t.begin(w, r)
	return served, rest, nil
}

// serve runs the rest of a request in a goroutine. The client may then reuse the data of the request.
func (t *transport) serve(w *response, begun *http.Request, rest http.HandlerFunc) {
	ctx, cancel := context.WithCancel(begun.Context())
	unlink := context.AfterFunc(t.ctx, cancel)
	served := begun.Clone(ctx)
	w.started, w.cancel = make(chan struct{}), cancel
	stopped := context.AfterFunc(ctx, func() {
		w.fail(context.Cause(ctx))
		_ = served.Body.Close() // the handler may wait for the end of the body
	})
	t.requests.Go(func() {
		defer served.Body.Close()
		defer unlink()
		defer stopped()
		defer func() { // a panic in upstream's code breaks the connection, as in an HTTP server
			if problem := recover(); problem != nil {
				w.fail(panicked(problem))
			}
		}()
		rest(w, served)
		stopped()
		w.end()
	})
}

func panicked(problem any) error { return fmt.Errorf("the API server panicked: %v", problem) }

// HandleWebhooks registers a handler under a unique URL, see [Server.HandleWebhooks]. A manager whose rest.Config has
// this transport uses it to serve its webhooks, through package webhook/local.
func (t *transport) HandleWebhooks(handler http.Handler) (url string, release func()) {
	return t.server.handleWebhooks(handler)
}

// window is the number of bytes of a response that may wait for the client before the handler blocks.
const window = 1 << 20

// response connects a handler that writes with a client that reads.
type response struct {
	header  http.Header   // the handler's header; a copy is sent
	started chan struct{} // closed when RoundTrip can return; nil if the response is complete before it is read
	cancel  context.CancelFunc
	bare    bool // it has no body, such as a response to HEAD

	mu       sync.Mutex
	progress sync.Cond // L is mu; signaled when a field below changes
	status   int
	sent     http.Header // nil before the status is known
	body     []byte      // written but not read
	begun    bool        // started is closed
	ended    bool        // the handler has ended
	closed   bool        // the client has closed the body
	err      error       // the reader's error at the end, instead of io.EOF
}

func (w *response) Header() http.Header { return w.header }

func (w *response) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendLocked(status)
}

func (w *response) sendLocked(status int) {
	if w.sent == nil {
		if w.status, w.sent = status, w.header; w.started != nil {
			w.sent = w.header.Clone()
		}
	}
}

func (w *response) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendLocked(http.StatusOK)
	for len(w.body) > window && w.started != nil && !w.closed && w.err == nil {
		w.beginLocked()
		w.progress.Wait()
	}
	if w.closed || w.err != nil {
		return 0, io.ErrClosedPipe
	}
	if !w.bare {
		w.body = append(w.body, data...)
	}
	if w.begun {
		w.progress.Broadcast()
	}
	return len(data), nil
}

// give writes data without waiting for the client. The data must not change afterwards.
func (w *response) give(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendLocked(http.StatusOK)
	if w.bare {
		data = nil
	}
	if len(w.body) > 0 {
		data = append(w.body, data...)
	}
	w.body = data
	w.beginLocked()
}

func (w *response) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendLocked(http.StatusOK)
	w.beginLocked()
}

func (w *response) beginLocked() {
	if !w.begun && w.started != nil {
		w.begun = true
		close(w.started)
	}
	w.progress.Broadcast()
}

// end is called after the handler has returned.
func (w *response) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sendLocked(http.StatusOK)
	w.ended = true
	w.beginLocked()
}

// fail ends the response with an error, unless it has ended.
func (w *response) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.err = err
		w.beginLocked()
	}
}

func (w *response) result(request *http.Request) (*http.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sent == nil {
		return nil, w.err
	}
	length := int64(-1)
	if w.ended {
		length = int64(len(w.body))
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1",
		ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: w, ContentLength: length, Request: request,
	}, nil
}

// Read is called by the client.
func (w *response) Read(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.body) == 0 && !w.ended && !w.closed && w.err == nil {
		w.progress.Wait()
	}
	switch {
	case w.closed:
		return 0, http.ErrBodyReadAfterClose
	case len(w.body) > 0:
		n := copy(data, w.body)
		w.body = w.body[n:]
		w.progress.Broadcast()
		return n, nil
	case w.err != nil:
		return 0, w.err
	}
	return 0, io.EOF
}

// Close ends the request.
func (w *response) Close() error {
	w.mu.Lock()
	w.closed, w.body = true, nil
	w.progress.Broadcast()
	w.mu.Unlock()
	if w.cancel != nil {
		w.cancel()
	}
	return nil
}
