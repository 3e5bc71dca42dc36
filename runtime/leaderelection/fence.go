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

// Fence prevents a process from sending requests as the leader after its term has ended. Create one with [NewFence],
// set it in the Options of an [Elector], and create clients with [Fence.Guard]. A Fence checks clocks instead of
// relying on timers, so it also works after the process was suspended. It is safe for concurrent use.
//
// A request fails before it is sent if its context is the context of a term that has ended, or is derived from it, even
// with context.WithoutCancel. When a term is lost, the Fence resets all connections, so that data in the buffers of
// this machine is never sent.
type Fence struct {
	mu    sync.Mutex
	terms map[*tenure]struct{}     // current terms
	conns map[*fencedConn]struct{} // open connections
}

// NewFence returns a fence without terms, which rejects no requests.
func NewFence() *Fence {
	return &Fence{terms: map[*tenure]struct{}{}, conns: map[*fencedConn]struct{}{}}
}

// TermErr returns nil if ctx belongs to no term or to a current term. Otherwise it returns the reason why the term has
// ended. If the error wraps [ErrLost], another process may already be the leader.
func TermErr(ctx context.Context) error {
	own, _ := ctx.Value(tenureKey{}).(*tenure)
	for t := own; t != nil; t = t.outer {
		if err := t.err(); err != nil {
			return err
		}
	}
	return nil
}

// Guard returns a copy of config. Clients with this configuration send no requests of a term that has ended.
func (f *Fence) Guard(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	if config.Transport == nil {
		dial := config.Dial
		if dial == nil {
			dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
		}
		config.Dial = f.dialer(dial)
	}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return fencedTripper{next} })
	return config
}

type dial = func(ctx context.Context, network, address string) (net.Conn, error)

// dialer returns a variant of open whose connections are reset when a term of this fence is lost.
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

// remove removes a term that has ended, and resets all connections if it was lost.
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
	// Called without the lock, because each connection acquires it to remove itself.
	for _, c := range open {
		c.reset()
	}
}

// overdue returns an error if a term was not renewed in time, even if no timer has fired yet.
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

// fencedTripper is an http.RoundTripper that checks the term before it sends a request.
type fencedTripper struct{ next http.RoundTripper }

func (t fencedTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := TermErr(req.Context()); err != nil {
		// A RoundTripper must close the body even if it sends nothing.
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(req)
}

func (t fencedTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// fencedConn is a connection that can be reset.
type fencedConn struct {
	net.Conn
	fence *Fence
}

// Write resets the connection if a term has ended, because the data may belong to that term.
func (c *fencedConn) Write(p []byte) (int, error) {
	if err := c.fence.overdue(); err != nil {
		c.reset()
		return 0, err
	}
	return c.Conn.Write(p)
}

func (c *fencedConn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// reset closes the connection and discards data that was written but not sent.
func (c *fencedConn) reset() {
	c.forget()
	if conn, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		// Without this, the kernel could send the data in its buffer at any later time.
		_ = conn.SetLinger(0)
	}
	c.Conn.Close()
}

func (c *fencedConn) forget() {
	c.fence.mu.Lock()
	defer c.fence.mu.Unlock()
	delete(c.fence.conns, c)
}

// tenure is the part of a term that code acting in the term uses.
type tenure struct {
	lease string
	// outer is the term in which this one was acquired, or nil: both must be current.
	outer *tenure
	// renewed is the start of the last successful renewal. deadline is the time when the term ends if no further renewal
	// succeeds.
	renewed, deadline atomic.Pointer[time.Time]
	ended             atomic.Pointer[error]
}

type tenureKey struct{}

// begin returns a context of t.
func (t *tenure) begin(ctx context.Context) context.Context {
	t.outer, _ = ctx.Value(tenureKey{}).(*tenure)
	return context.WithValue(ctx, tenureKey{}, t)
}

// unfenced returns a context that belongs to no term, for requests that read or write Leases.
func unfenced(ctx context.Context) context.Context {
	return context.WithValue(ctx, tenureKey{}, (*tenure)(nil))
}

func (t *tenure) renew(begun time.Time, patience time.Duration) {
	deadline := begun.Add(patience)
	t.renewed.Store(&begun)
	t.deadline.Store(&deadline)
}

// since returns the time from t to now: the maximum of the monotonic clock, which stops while the machine sleeps, and
// the wall clock, which can be set.
func since(t, now time.Time) time.Duration {
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}

// end ends the term permanently. Only the first error counts.
func (t *tenure) end(err error) { t.ended.CompareAndSwap(nil, &err) }

// err returns nil if the term is current.
func (t *tenure) err() error {
	if ended := t.ended.Load(); ended != nil {
		return *ended
	}
	if late := since(*t.deadline.Load(), time.Now()); late >= 0 {
		return fmt.Errorf("%w: lease %s was not renewed until %s ago", ErrLost, t.lease, late.Round(time.Millisecond))
	}
	return nil
}
