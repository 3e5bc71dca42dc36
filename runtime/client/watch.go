package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// stream is the Stream of a watch that is open. Whoever calls Next reads and decodes.
type stream[T object.Object] struct {
	ctx    context.Context // of the caller; its end is told apart from Close by it
	cancel context.CancelFunc
	what   string
	body   io.Closer
	events *wire.Stream[T]
	closed atomic.Bool
	err    error // what ended the stream
}

// Next implements [Stream].
func (s *stream[T]) Next() (WatchEvent[T], error) {
	if s.err != nil {
		return WatchEvent[T]{}, s.err
	}
	event, err := s.next()
	if err != nil {
		s.err = s.readError(err)
		s.release()
		return WatchEvent[T]{}, s.err
	}
	return WatchEvent[T](event), nil
}

// next returns the next event. What was read before the stream ended is not returned after it.
func (s *stream[T]) next() (wire.Event[T], error) {
	if s.ctx.Err() != nil || s.closed.Load() {
		return wire.Event[T]{}, net.ErrClosed
	}
	return s.events.Next()
}

// Close implements [Stream].
func (s *stream[T]) Close() error {
	s.closed.Store(true)
	s.release()
	return nil
}

// release gives the connection back, which also ends a read that is under way.
func (s *stream[T]) release() {
	s.cancel()
	_ = s.body.Close()
}

// readError tells why there is no event.
func (s *stream[T]) readError(err error) error {
	if malformed, ok := errors.AsType[*wire.Error](err); ok {
		return &DecodeError{What: "event of " + s.what, Err: malformed.Err}
	}
	status := apierrors.APIStatus(nil)
	switch {
	case errors.As(err, &status):
		return err
	case s.ctx.Err() != nil:
		return networkError(s.ctx, s.what, err)
	case s.closed.Load():
		return fmt.Errorf("%s: %w", s.what, net.ErrClosed)
	case err == io.EOF:
		return err
	}
	return networkError(s.ctx, s.what, err)
}
