package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// errSilent means that a server or proxy keeps the connection open but sends nothing.
var errSilent = errors.New("the server sends nothing")

// idleBody is the body of an answer with an idle timeout. The timeout applies to the wait for the header, and then to
// each Read.
type idleBody struct {
	io.ReadCloser // nil before the header arrives
	timeout       time.Duration
	timer         *time.Timer // cancels the request; runs during waits
	cancel        context.CancelFunc
	expired       atomic.Bool // the timer has canceled the request
}

// withIdleTimeout returns a context for the request, and the body that wraps the body of its answer.
func withIdleTimeout(ctx context.Context, timeout time.Duration) (context.Context, *idleBody) {
	b := &idleBody{timeout: timeout}
	ctx, b.cancel = context.WithCancel(ctx)
	b.timer = time.AfterFunc(timeout, func() {
		b.expired.Store(true)
		b.cancel()
	})
	return ctx, b
}

// failed ends a request that failed with err before an answer, and returns the error to report.
func (b *idleBody) failed(err error) error {
	if b.expired.Load() {
		err = errSilent
	}
	b.timer.Stop()
	b.cancel()
	return err
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.timeout)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF && b.expired.Load() {
		err = errSilent
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	b.cancel()
	return b.ReadCloser.Close()
}
