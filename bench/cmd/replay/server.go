package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// unsupported is the response of an API server without streaming lists. Both clients then use a list.
const unsupported = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",` +
	`"reason":"Invalid","code":422,` +
	`"message":"sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"}`

// server is a transport that answers like an API server.
type server struct {
	ctx     context.Context
	format  format
	bodies  bodies
	way     string
	streams atomic.Int32 // streaming lists served
	lists   atomic.Int32
	failed  chan error // receives an unexpected request's error
	started chan struct{}
	begin   func() // starts the events of watches
}

func newServer(ctx context.Context, f format, b bodies, way string) *server {
	s := &server{ctx: ctx, format: f, bodies: b, way: way, failed: make(chan error, 1), started: make(chan struct{})}
	s.begin = sync.OnceFunc(func() { close(s.started) })
	return s
}

// RoundTrip implements [http.RoundTripper].
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	watching := query.Get("watch") == "true" || query.Get("watch") == "1"
	if !strings.Contains(r.Header.Get("Accept"), s.format.accept) {
		return nil, s.refuse(fmt.Errorf("%s accepts %q, not %s", r.URL, r.Header.Get("Accept"), s.format.accept))
	}
	switch {
	case !watching:
		s.lists.Add(1)
		return answer(r, http.StatusOK, s.format.list, io.NopCloser(bytes.NewReader(s.bodies.list))), nil
	case query.Get("sendInitialEvents") != "true":
		return answer(r, http.StatusOK, s.format.watch, s.watch(r, s.started, s.bodies.events)), nil
	case s.way != streamed:
		return answer(r, http.StatusUnprocessableEntity, "application/json", io.NopCloser(strings.NewReader(unsupported))),
			nil
	}
	s.streams.Add(1)
	now := make(chan struct{})
	close(now)
	return answer(r, http.StatusOK, s.format.watch, s.watch(r, now, s.bodies.initial)), nil
}

func (s *server) refuse(err error) error {
	select {
	case s.failed <- err:
	default:
	}
	return err
}

func answer(r *http.Request, code int, contentType string, body io.ReadCloser) *http.Response {
	return &http.Response{
		StatusCode: code, Status: fmt.Sprint(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {contentType}}, Body: body, Request: r,
	}
}

func (s *server) watch(r *http.Request, start <-chan struct{}, data []byte) io.ReadCloser {
	ctx, cancel := context.WithCancel(r.Context())
	context.AfterFunc(s.ctx, cancel)
	return &watchBody{ctx: ctx, cancel: cancel, start: start, data: data}
}

// watchBody is the body of a watch that sends data after start and then stays idle.
type watchBody struct {
	ctx    context.Context
	cancel context.CancelFunc
	start  <-chan struct{}
	data   []byte
}

// Read implements [io.Reader].
func (b *watchBody) Read(p []byte) (int, error) {
	select {
	case <-b.start:
	case <-b.ctx.Done():
		return 0, b.ctx.Err()
	}
	if len(b.data) == 0 {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	n := copy(p[:min(len(p), readSize)], b.data)
	b.data = b.data[n:]
	return n, nil
}

// readSize is the maximum size of one read: a frame of HTTP/2.
const readSize = 16 << 10

// Close implements [io.Closer].
func (b *watchBody) Close() error {
	b.cancel()
	return nil
}
