package leaderelection

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// counter is an http.RoundTripper that answers every request and counts the requests.
type counter struct{ sent atomic.Int32 }

func (c *counter) RoundTrip(*http.Request) (*http.Response, error) {
	c.sent.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func write(ctx context.Context, through http.RoundTripper) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://apiserver/",
		io.NopCloser(strings.NewReader("{}")))
	if err != nil {
		return err
	}
	_, err = through.RoundTrip(req)
	return err
}

func TestNothingIsSentInTheNameOfALostTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fence, sent := NewFence(), &counter{}
		through := fencedTripper{sent}
		a := newCandidate(t, newServer(), "a", func(o *Options) { o.Fence = fence }).run(t)
		<-a.leading
		detached := context.WithoutCancel(a.leadCtx)
		if err := errors.Join(write(a.leadCtx, through), write(detached, through)); err != nil || sent.sent.Load() != 2 {
			t.Fatalf("while it leads: %v", err)
		}
		a.link.fail(func(context.Context, string) error { return errDown })
		<-a.leadCtx.Done()
		for _, ctx := range []context.Context{a.leadCtx, detached} {
			if err := write(ctx, through); !errors.Is(err, ErrLost) {
				t.Errorf("got %v, want ErrLost", err)
			}
		}
		if err := write(context.Background(), through); err != nil {
			t.Errorf("outside of the term: %v", err)
		}
		if got := sent.sent.Load(); got != 3 {
			t.Errorf("%d requests were sent", got)
		}
	})
}

func TestTermOfAFrozenProcessIsOverBeforeItsTimersAre(t *testing.T) {
	var f tenure
	f.lease = "ns/guestbook"
	f.renew(time.Now().Add(-time.Minute), 10*time.Second) // as after a freeze, when no timer has fired yet
	ctx := f.begin(context.Background())
	if err := TermErr(ctx); !errors.Is(err, ErrLost) || ctx.Err() != nil {
		t.Errorf("got %v", err)
	}
	f.renew(time.Now(), 10*time.Second)
	if err := TermErr(ctx); err != nil {
		t.Errorf("after a renewal: %v", err)
	}
}

func TestTermIsOverWhenTheLeaderHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		through := fencedTripper{&counter{}}
		a := start(t, newServer(), "a")
		<-a.leading
		detached := context.WithoutCancel(a.leadCtx)
		a.drain = time.Minute
		a.stop()
		time.Sleep(30 * time.Second)
		if err := write(detached, through); err != nil {
			t.Errorf("while it drains: %v", err)
		}
		<-a.ended
		if err := write(detached, through); err == nil || errors.Is(err, ErrLost) {
			t.Errorf("afterwards: got %v", err)
		}
	})
}

// pipes is a dialer that keeps its connections.
type pipes struct{ far []*resettable }

// resettable is a connection that records how it is closed.
type resettable struct {
	net.Conn
	linger int
}

func (r *resettable) SetLinger(sec int) error { r.linger = sec; return nil }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, far) }()
	r := &resettable{Conn: near, linger: -1}
	p.far = append(p.far, r)
	return r, nil
}

func TestConnectionsAreResetWhenATermIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fence, p := NewFence(), &pipes{}
		dial := fence.dialer(p.dial)
		open := func() net.Conn {
			conn, err := dial(t.Context(), "tcp", "apiserver")
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}
		closed, during := open(), open()
		closed.Close()
		a := newCandidate(t, newServer(), "a", func(o *Options) { o.Fence = fence }).run(t)
		<-a.leading
		if _, err := during.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		a.link.fail(func(context.Context, string) error { return errDown })
		<-a.ended
		if _, err := during.Write([]byte("x")); err == nil {
			t.Error("the connection is open")
		}
		if p.far[0].linger != -1 || p.far[1].linger != 0 {
			t.Errorf("closed with linger %d and %d", p.far[0].linger, p.far[1].linger)
		}
		after := open()
		if _, err := after.Write([]byte("x")); err != nil {
			t.Errorf("a new connection: %v", err)
		}
		after.Close()
	})
}

func TestConnectionOfAFrozenProcessIsResetInsteadOfWritten(t *testing.T) {
	fence, p := NewFence(), &pipes{}
	conn, err := fence.dialer(p.dial)(t.Context(), "tcp", "apiserver")
	if err != nil {
		t.Fatal(err)
	}
	frozen := &tenure{lease: "ns/guestbook"}
	frozen.renew(time.Now().Add(-time.Minute), 10*time.Second)
	fence.add(frozen)
	if _, err := conn.Write([]byte("x")); !errors.Is(err, ErrLost) || p.far[0].linger != 0 {
		t.Errorf("got %v, linger %d", err, p.far[0].linger)
	}
}

func TestDialErrorIsPassedOn(t *testing.T) {
	dial := NewFence().dialer(func(context.Context, string, string) (net.Conn, error) { return nil, errDown })
	if _, err := dial(t.Context(), "tcp", "apiserver"); err != errDown {
		t.Errorf("got %v", err)
	}
}

func TestInnerTermEndsWithTheOuterOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		outer := newCandidate(t, s, "a", nil)
		link := newLink(s)
		inner, err := New(link, Options{Namespace: testKey.Namespace, Name: "inner", Identity: "a", ReleaseOnExit: true,
			Logger: outer.opts.Logger})
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan context.Context, 1)
		ended := make(chan error, 1)
		go func() {
			ended <- outer.Run(t.Context(), func(ctx context.Context) error {
				return inner.Run(ctx, func(ctx context.Context) error {
					begun <- ctx
					<-ctx.Done()
					return nil
				})
			})
		}()
		ctx := <-begun
		outer.link.fail(func(context.Context, string) error { return errDown })
		if err := <-ended; !errors.Is(err, ErrLost) {
			t.Errorf("got %v", err)
		}
		if err := TermErr(context.WithoutCancel(ctx)); err == nil {
			t.Error("the inner term goes on")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for key, lease := range s.leases {
			if key.Name == "inner" && holder(lease) != "" {
				t.Error("the inner lease was not released")
			}
		}
	})
}

// The term ends by the monotonic clock or by the wall clock, which also advances while the machine sleeps.
func TestTermEndsWithEitherClock(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		name     string
		deadline time.Time
		over     bool
	}{
		{"both before", now.Add(time.Minute), false},
		{"both after", now.Add(-time.Minute), true},
		{"the wall clock after", now.Round(0).Add(-time.Minute), true},
		{"the wall clock before", now.Round(0).Add(time.Minute), false},
	} {
		if over := since(c.deadline, now) >= 0; over != c.over {
			t.Errorf("%s: over %v", c.name, over)
		}
		tn := &tenure{lease: "ns/l"}
		tn.deadline.Store(&c.deadline)
		if err := tn.err(); (err != nil) != c.over {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
