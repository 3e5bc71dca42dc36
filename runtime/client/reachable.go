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
	// probeEvery is the shortest time between two probes of a server that fails; the longest is twice that.
	probeEvery = time.Second
	// probeTimeout is how long a probe waits for its answer.
	probeTimeout = 5 * time.Second
	// readyPath is what a probe asks for: the server is asked for what it needs itself too, such as its storage.
	readyPath = "/readyz"
)

// answers lets those wait who were failed by the server, until it answers somebody again.
type answers struct {
	next atomic.Pointer[chan struct{}] // closed by the next answer; nil while nobody waits
	turn chan struct{}                 // holds one token, taken by who probes
}

func newAnswers() *answers {
	a := &answers{turn: make(chan struct{}, 1)}
	a.turn <- struct{}{}
	return a
}

// came says that the server has done what it was asked for.
func (a *answers) came() {
	if a.next.Load() == nil {
		return
	}
	if next := a.next.Swap(nil); next != nil {
		close(*next)
	}
}

// wait returns what is closed by the next answer.
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

// Reachable blocks until the server does again what it is asked for, or ctx ends: until any request of c from now on
// succeeds. It is for loops, of informers and of programs, whose requests have failed and who would wait long before they try
// again. While there are such,
// one request each one or two seconds asks the server for /readyz, however many wait; one that hides that from this
// user is reachable when it says so. The server may still fail what the caller wants, so one that comes back must not do
// so at once, nor together with all others.
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

// probe asks the server whether it is ready. It is answers that hears of it when it is.
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

// Reachable is [REST.Reachable] of the client. A source that wraps a ListWatcher passes it on, for the informer in front of it.
func (lw *ListWatcher[T]) Reachable(ctx context.Context) error { return lw.client.Reachable(ctx) }
