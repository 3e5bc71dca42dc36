package client

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

const (
	// probeEvery is the shortest interval between probes of a failing server. The longest is twice that.
	probeEvery = time.Second
	// probeTimeout is the timeout of a probe.
	probeTimeout = 5 * time.Second
	// readyPath is the path that a probe requests. It fails if the server's dependencies, such as its storage, fail.
	readyPath = "/readyz"
)

// answers wakes callers whose requests have failed as soon as the server answers any request successfully.
type answers struct {
	next atomic.Pointer[chan struct{}] // closed by the next answer; nil without waiters
	turn chan struct{}                 // holds one token, taken by the goroutine that probes
}

// came records a successful answer of the server.
func (a *answers) came() {
	if a.next.Load() == nil {
		return
	}
	if next := a.next.Swap(nil); next != nil {
		close(*next)
	}
}

// wait returns a channel that the next answer closes.
func (a *answers) wait() <-chan struct{} {
	for {
		if next := a.next.Load(); next != nil {
			return *next
		}
		next := make(chan struct{})
		if a.next.CompareAndSwap(nil, &next) {
			return next
		}
	}
}

// Reachable blocks until any request of c succeeds, or ctx ends; then it returns the error of ctx. Use it in loops
// whose requests have failed, so that they retry as soon as the server recovers instead of after a long backoff. While
// callers wait, the client sends one probe to /readyz every one to two seconds, whatever the number of callers. If the
// server denies access to /readyz, that answer also means that it is reachable. The caller's own request may still
// fail, so callers should retry with jitter.
func (c *REST) Reachable(ctx context.Context) error { return c.conn.reachable(ctx) }

func (c *conn) reachable(ctx context.Context) error {
	answered := c.answers.wait()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.answers.turn:
	}
	defer func() { c.answers.turn <- struct{}{} }()
	for {
		pause := time.NewTimer(probeEvery + rand.N(probeEvery))
		c.probe(ctx)
		select {
		case <-answered:
		case <-ctx.Done():
		case <-pause.C:
			continue
		}
		pause.Stop()
		select {
		case <-answered:
			return nil
		default:
			return ctx.Err()
		}
	}
}

// probe requests the server's readiness. A success wakes the waiters through answers.
func (c *conn) probe(ctx context.Context) {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("no answer within %s", probeTimeout))
	defer cancel()
	resp, err := c.send(ctx, &request{verb: "probe", method: http.MethodGet, raw: readyPath, accept: "*/*"})
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		c.answers.came()
	}
}

// Reachable calls [REST.Reachable] of the client. A type that wraps a ListWatcher for an informer should forward this
// method.
func (lw *ListWatcher[T]) Reachable(ctx context.Context) error { return lw.client.Reachable(ctx) }
