package leaderelection

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Fence keeps what a process wanted to write as leader from reaching the API server after its term. [NewFence] makes
// one; an [Elector] is told of it by its Options. It works by the clock and not by timers, so a process that has been
// frozen finds it closed. All methods are safe for concurrent use.
//
// Requests are refused before they are sent when their context is that of a term that has ended, or comes from it,
// even by context.WithoutCancel. Connections are reset when a term is lost, so that what lies in a buffer of this
// machine never leaves it.
type Fence struct {
	mu    sync.Mutex
	terms map[*tenure]struct{}     // those that go on
	conns map[*fencedConn]struct{} // those that are open
}

// NewFence returns a fence without terms, which refuses nothing.
func NewFence() *Fence {
	return &Fence{terms: map[*tenure]struct{}{}, conns: map[*fencedConn]struct{}{}}
}

// TermErr returns nil while the term goes on that ctx comes from, and when it comes from none; afterwards it returns
// why not. An error that is ErrLost says that another process may be the leader by now.
func TermErr(ctx context.Context) error {
	own, _ := ctx.Value(tenureKey{}).(*tenure)
	for t := own; t != nil; t = t.outer {
		if err := t.err(); err != nil {
			return err
		}
	}
	return nil
}

// Guard returns a copy of config whose clients send nothing for a term that has ended.
func (f *Fence) Guard(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if config.Transport == nil {
		dial := config.Dial
		if dial == nil {
			dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
		}
		config.Dial = f.dialer(dial)
	}
	config.Wrap(f.roundTripper)
	return config
}

func (f *Fence) roundTripper(next http.RoundTripper) http.RoundTripper { return fencedTripper{next} }

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns open with connections that are reset when a term of this fence is lost.
func (f *Fence) dialer(open dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := open(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &fencedConn{Conn: conn, fence: f}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.conns[c] = struct{}{}
		return c, nil
	}
}

func (f *Fence) add(t *tenure) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.terms[t] = struct{}{}
}

// remove forgets a term that has ended, and resets all connections if it was lost.
func (f *Fence) remove(t *tenure, lost bool) {
	if f == nil {
		return
	}
	f.mu.Lock()
	delete(f.terms, t)
	var open []*fencedConn
	if lost {
		open = slices.Collect(maps.Keys(f.conns))
	}
	f.mu.Unlock()
	// Without the lock, which each connection takes to be forgotten.
	for _, c := range open {
		c.reset()
	}
}

// overdue returns an error when a term was not renewed in time, though nobody may have noticed yet.
func (f *Fence) overdue() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for t := range f.terms {
		if err := t.err(); err != nil {
			return err
		}
	}
	return nil
}

// fencedTripper is an http.RoundTripper that asks for the term first.
type fencedTripper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t fencedTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := TermErr(req.Context()); err != nil {
		// A RoundTripper closes the body also when it sends nothing.
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper returns what sends the requests, for those who look for a transport's connections.
func (t fencedTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// fencedConn is a connection that can be reset.
type fencedConn struct {
	net.Conn
	fence *Fence
}

// Write resets the connection instead when a term is over, since what is written may belong to it.
func (c *fencedConn) Write(p []byte) (int, error) {
	if err := c.fence.overdue(); err != nil {
		c.reset()
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close closes the connection in good order.
func (c *fencedConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// reset closes the connection, and what was written but not yet sent is thrown away.
func (c *fencedConn) reset() {
	c.forget()
	if conn, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		// Else the kernel sends what it has buffered, however late.
		_ = conn.SetLinger(0)
	}
	c.Conn.Close()
}

func (c *fencedConn) forget() {
	c.fence.mu.Lock()
	defer c.fence.mu.Unlock()
	delete(c.fence.conns, c)
}

// tenure is a term as those see it who act in its name.
type tenure struct {
	lease string
	// outer is the term within which this one was acquired, nil when there is none: both must go on.
	outer *tenure
	// renewed is when the last renewal that succeeded was begun, and deadline when the term ends without another one.
	renewed, deadline atomic.Pointer[time.Time]
	ended             atomic.Pointer[error]
}

type tenureKey struct{}

// begin returns a context of t.
func (t *tenure) begin(ctx context.Context) context.Context {
	t.outer, _ = ctx.Value(tenureKey{}).(*tenure)
	return context.WithValue(ctx, tenureKey{}, t)
}

// unfenced returns a context that outlives every term, for requests that are about Leases.
func unfenced(ctx context.Context) context.Context {
	return context.WithValue(ctx, tenureKey{}, (*tenure)(nil))
}

// renew moves the deadline.
func (t *tenure) renew(begun time.Time, patience time.Duration) {
	deadline := begun.Add(patience)
	t.renewed.Store(&begun)
	t.deadline.Store(&deadline)
}

// since returns how long t has been over by now: by the monotonic clock, which stands still while the machine sleeps,
// or by the wall clock, which may be set, whichever says more.
func since(t, now time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// end ends the term for good. Only the first error counts.
func (t *tenure) end(err error) { t.ended.CompareAndSwap(nil, &err) }

// err returns nil while the term goes on.
func (t *tenure) err() error {
	if ended := t.ended.Load(); ended != nil {
		return *ended
	}
	if late := since(*t.deadline.Load(), time.Now()); late >= 0 {
		return fmt.Errorf("%w: lease %s was not renewed until %s ago", ErrLost, t.lease, late.Round(time.Millisecond))
	}
	return nil
}
