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
	// probeEvery is the shortest interval of probes of a failing server. The longest is twice that.
	probeEvery = time.Second
	// probeTimeout is the timeout of a probe.
	probeTimeout = 5 * time.Second
	// readyPath is the path of a probe. Its answer covers the server's dependencies, such as its storage.
	readyPath = "/readyz"
)

// answers wakes callers whose requests failed when the server answers any request again.
type answers struct {
	next atomic.Pointer[chan struct{}] // closed by the next answer; nil without waiters
	turn chan struct{}                 // holds one token, taken by the goroutine that probes
}

func newAnswers() *answers {
	a := &answers{turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a
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

// Reachable blocks until any request of c succeeds, or ctx ends. It is for loops whose requests have failed and that
// would otherwise back off for long. While callers wait, one request every one to two seconds probes /readyz,
// independent of their number. A server that denies the user access to /readyz counts as reachable when it answers so.
// The server may still fail the caller's request, so callers should retry with jitter.
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

// Reachable is [REST.Reachable] of the client. A source that wraps a ListWatcher should forward it for the informer.
func (lw *ListWatcher[T]) Reachable(ctx context.Context) error { return lw.client.Reachable(ctx) }
