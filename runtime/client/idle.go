package client

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// errSilent reports a server, or something before it, that keeps a connection and sends nothing.
var errSilent = errors.New("the server sends nothing")

// idleBody is the body of an answer that is given up when nothing comes while somebody waits: for the header first, and then in Read.
type idleBody struct {
	io.ReadCloser // nil before the header has come
	timeout       time.Duration
	timer         *time.Timer // cancels the request; runs while somebody waits
	cancel        context.CancelFunc
	expired       atomic.Bool // the timer has cancelled it
}

// withIdleTimeout returns the context for a request, and what its body becomes.
func withIdleTimeout(ctx context.Context, timeout time.Duration) (context.Context, *idleBody) {
	b := &idleBody{timeout: timeout}
	ctx, b.cancel = context.WithCancel(ctx)
	b.timer = time.AfterFunc(timeout, func() {
		b.expired.Store(true)
		b.cancel()
	})
	return ctx, b
}

// failed ends a request that has no answer because of err, and returns why.
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
