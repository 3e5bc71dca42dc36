package informer_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// stream is one open watch of a source.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	events  []client.WatchEvent[obj]
	err     error
	closed  bool
}

func newStream(ctx context.Context, timeout time.Duration) *stream {
	st := &stream{}
	st.changed.L = &st.mu
	timer := time.AfterFunc(timeout, func() { st.end(io.EOF) })
	context.AfterFunc(ctx, func() { timer.Stop(); st.end(ctx.Err()) })
	return st
}

func (st *stream) send(event client.WatchEvent[obj]) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.events = append(st.events, event)
	st.changed.Broadcast()
}

func (st *stream) end(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err == nil {
		st.err = err
	}
	st.changed.Broadcast()
}

func (st *stream) Next() (client.WatchEvent[obj], error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for len(st.events) == 0 && st.err == nil {
		st.changed.Wait()
	}
	if len(st.events) == 0 {
		return client.WatchEvent[obj]{}, st.err
	}
	event := st.events[0]
	st.events = st.events[1:]
	return event, nil
}

func (st *stream) Close() error {
	st.end(errors.New("stream is closed"))
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed = true
	return nil
}
