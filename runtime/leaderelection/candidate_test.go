package leaderelection

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

var (
	testKey = object.Key{Namespace: "guestbook-system", Name: "guestbook"}
	errDown = errors.New("connection refused")
)

// candidate is an Elector that runs in a goroutine.
type candidate struct {
	*Elector
	link *link
	stop context.CancelFunc
	// leading is closed when the leader's function was called; its context is then in leadCtx.
	leading chan struct{}
	leadCtx context.Context
	// drain is how long the leader goes on after the end of its context, and result what it returns then.
	drain  time.Duration
	result error
	// left is when the leader returned.
	left time.Time
	// ended is closed when Run has returned err.
	ended chan struct{}
	err   error
}

func newCandidate(t *testing.T, s *server, identity string, change func(*Options)) *candidate {
	t.Helper()
	opts := Options{Namespace: testKey.Namespace, Name: testKey.Name, Identity: identity, ReleaseOnExit: true, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&opts)
	}
	c := &candidate{link: newLink(s), leading: make(chan struct{}), ended: make(chan struct{})}
	var err error
	if c.Elector, err = New(c.link, opts); err != nil {
		t.Fatal(err)
	}
	return c
}

// run starts Run, and stops it at the end of the test.
func (c *candidate) run(t *testing.T) *candidate {
	ctx, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	t.Cleanup(cancel)
	go func() {
		defer close(c.ended)
		c.err = c.Run(ctx, func(ctx context.Context) error {
			c.leadCtx = ctx
			close(c.leading)
			<-ctx.Done()
			time.Sleep(c.drain)
			c.left = time.Now()
			return c.result
		})
	}()
	return c
}

// led reports whether the candidate has become leader.
func (c *candidate) led() bool {
	synctest.Wait()
	select {
	case <-c.leading:
		return true
	default:
		return false
	}
}

func start(t *testing.T, s *server, identity string) *candidate {
	t.Helper()
	return newCandidate(t, s, identity, nil).run(t)
}
