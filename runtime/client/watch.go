package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// stream is the Stream of a watch that is open. Whoever calls Next reads and decodes: there is no goroutine and no
// buffer of events in between.
type stream[T object.Object] struct {
	ctx    context.Context // of the caller; its end is told apart from Close by it
	cancel context.CancelFunc
	what   string
	body   io.Closer
	frames frameReader
	decode func(data []byte) (T, error)
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
		s.err = err
		s.release()
		return WatchEvent[T]{}, err
	}
	return event, nil
}

// next returns the next event. What was read before the stream ended is not returned after it.
func (s *stream[T]) next() (WatchEvent[T], error) {
	if s.ctx.Err() != nil || s.closed.Load() {
		return WatchEvent[T]{}, s.readError(net.ErrClosed)
	}
	frame, err := s.frames.next()
	if err != nil {
		return WatchEvent[T]{}, s.readError(err)
	}
	return s.event(frame)
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

// readError tells why no frame could be read.
func (s *stream[T]) readError(err error) error {
	switch {
	case s.ctx.Err() != nil:
		return networkError(s.ctx, s.what, err)
	case s.closed.Load():
		return fmt.Errorf("%s: %w", s.what, net.ErrClosed)
	case err == io.EOF:
		return err
	case errors.Is(err, errBadFrame):
		return s.decodeError(err)
	}
	return networkError(s.ctx, s.what, err)
}

func (s *stream[T]) decodeError(err error) error {
	return &DecodeError{What: "event of " + s.what, Err: err}
}

// event returns the event that frame is, or the error that the server sent in its place.
func (s *stream[T]) event(frame []byte) (WatchEvent[T], error) {
	var event WatchEvent[T]
	kind, raw, err := splitEvent(frame)
	if err != nil {
		return event, s.decodeError(err)
	}
	event.Type = watch.EventType(kind)
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if len(raw) == 0 || raw[0] != '{' {
			return event, s.decodeError(errors.New("it has no object"))
		}
		if event.Object, err = s.decode(raw); err == nil {
			event.ResourceVersion = event.Object.GetResourceVersion()
		}
	case watch.Bookmark:
		var bookmark metav1.PartialObjectMetadata
		if err = utiljson.Unmarshal(raw, &bookmark); err == nil && bookmark.ResourceVersion == "" {
			err = errors.New("the bookmark has no resourceVersion")
		}
		event.ResourceVersion = bookmark.ResourceVersion
		event.InitialEventsEnd = bookmark.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	case watch.Error:
		if status, ok := parseStatus(raw); ok {
			return event, apierrors.FromObject(status)
		}
		err = fmt.Errorf("the error event holds no failure Status: %.200q", raw)
	default:
		err = fmt.Errorf("unknown event type %q", kind)
	}
	if err != nil {
		return WatchEvent[T]{}, s.decodeError(err)
	}
	return event, nil
}
