package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// WatchEvent is one event of a watch. Its fields are:
//
//   - Type, a watch.EventType: Added, Modified, Deleted or Bookmark. Next returns the server's Error events as errors.
//   - Object, a T: the object after the change, or its last state for Deleted, or the zero value for Bookmark. The
//     caller owns it.
//   - ResourceVersion, a string: the version of the object or bookmark.
//   - InitialEventsEnd, a bool: true for the bookmark that ends the initial events of a streaming list (KEP-3157). It
//     follows the events for all objects that existed at ResourceVersion.
type WatchEvent[T object.Object] = wire.Event[T]

// Stream is an open watch. Only one goroutine may call Next. Close is safe for concurrent use, and may be called more
// than once.
type Stream[T object.Object] interface {
	// Next blocks until the next event arrives. It returns:
	//
	//   - io.EOF when the server has ended the watch normally
	//   - an apierrors.APIStatus error for an Error event
	//   - a *DecodeError for an event that cannot be decoded
	//   - the context's error after the context has ended
	//   - the error of a broken connection, which is io.ErrUnexpectedEOF in the middle of an event
	//
	// After any error, the stream has ended.
	Next() (WatchEvent[T], error)
	// Close ends the watch and releases its connection. Next then returns an error.
	Close() error
}

// stream implements Stream for an open watch. The caller of Next reads and decodes.
type stream[T object.Object] struct {
	ctx    context.Context // the caller's context, whose end differs from Close
	cancel context.CancelFunc
	what   string
	body   io.Closer
	events *wire.Stream[T]
	closed atomic.Bool
	err    error // error that ended the stream
}

// Next implements [Stream].
func (s *stream[T]) Next() (WatchEvent[T], error) {
	if s.err != nil {
		return WatchEvent[T]{}, s.err
	}
	var event WatchEvent[T]
	err := net.ErrClosed // data that was read before the stream ended is discarded
	if s.ctx.Err() == nil && !s.closed.Load() {
		event, err = s.events.Next()
	}
	if err != nil {
		s.err = s.readError(err)
		s.release()
		return WatchEvent[T]{}, s.err
	}
	return event, nil
}

// Close implements [Stream].
func (s *stream[T]) Close() error {
	s.closed.Store(true)
	s.release()
	return nil
}

// release closes the connection, which also ends a pending read.
func (s *stream[T]) release() {
	s.cancel()
	_ = s.body.Close()
}

// readError returns the error for a missing event.
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

// Watch opens a watch at the API server, see [WithWatch].
func (c *REST) Watch(ctx context.Context, list object.List, opts ...ListOption) (Stream[object.Object], error) {
	o, err := ListOptionsOf(opts...)
	if err != nil {
		return nil, err
	}
	if o.Limit != 0 || o.Continue != "" {
		return nil, fmt.Errorf("watch %T: a watch has no pages", list)
	}
	prototype, err := itemOf(list, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	gvk, err := object.GVK(prototype, c.scheme)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	version := cmp.Or(list.GetResourceVersion(), o.NotOlderThan)
	for repeated := false; ; repeated = true {
		res, err := c.locate(ctx, gvk, func(res resource) error { return res.checkSurplus(o.Namespace) })
		if err := ignoreSurplus(err); err != nil {
			return nil, fmt.Errorf("watch %s: %w", gvk.Kind, err)
		}
		watcher, err := NewListWatcher(c, prototype, Scope{
			Namespace: res.within(o.Namespace), Labels: o.LabelSelector, Fields: o.FieldSelector,
			KeepManagedFields: true,
		})
		if err != nil {
			return nil, err
		}
		stream, err := watcher.Watch(ctx, metav1.ListOptions{ResourceVersion: version})
		// The kind's CRD may have been replaced. The mapper has dropped the old document, so try once more.
		if !isMissingPath(err) || repeated {
			return stream, err
		}
	}
}

// itemOf returns an empty object of the kind of the items of list.
func itemOf(list object.List, scheme *runtime.Scheme) (object.Object, error) {
	gvk, err := itemKind(list, scheme)
	if err != nil {
		return nil, err
	}
	var item runtime.Object
	switch list.(type) {
	case runtime.Unstructured:
		item = &unstructured.Unstructured{}
	case *metav1.PartialObjectMetadataList:
		item = &metav1.PartialObjectMetadata{}
	default:
		if item, err = scheme.New(gvk); err != nil {
			return nil, err
		}
	}
	item.GetObjectKind().SetGroupVersionKind(gvk)
	o, ok := item.(object.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", item)
	}
	return o, nil
}
