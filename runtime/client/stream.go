package client

import (
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Page is one page of a list, as the API server returned it.
type Page[T object.Object] struct {
	// Items are the objects in the order of the server. The caller owns them, save those that Known says are shared.
	Items []T
	// ResourceVersion is that of the list: a watch started here misses nothing.
	ResourceVersion string
	// Continue is the token of the next page, empty on the last.
	Continue string
	// Known says of each item whether it is one that the caller had already, see [ListWatcher.Reusing]; nil is that none
	// is. Such an item is shared with whoever has it.
	Known []bool
}

// WatchEvent is one event of a watch.
type WatchEvent[T object.Object] struct {
	// Type is Added, Modified, Deleted or Bookmark. An Error event of the server never appears here: Next returns it
	// as an error.
	Type watch.EventType
	// Object is the object after the change; its last state for Deleted; the zero value for Bookmark. The caller owns it, unless
	// Known is set.
	Object T
	// ResourceVersion is that of the object, or of the bookmark.
	ResourceVersion string
	// InitialEventsEnd is set on the bookmark that ends the initial events of a streaming list (KEP-3157): all that
	// existed at ResourceVersion has been sent before it.
	InitialEventsEnd bool
	// Known is set when Object is one that the caller had already, see [ListWatcher.Reusing]. It is shared with whoever
	// has it.
	Known bool
}

// Stream is an open watch. It is read by one goroutine; Close may be called from another, and more than once.
type Stream[T object.Object] interface {
	// Next blocks until the next event has arrived. It returns io.EOF when the server ended the watch in order,
	// an apierrors.APIStatus error when the server sent an Error event, a *DecodeError for an event that cannot be
	// read, and the context's error after its end. A connection that broke is its error, io.ErrUnexpectedEOF within an
	// event. After any error the stream is over.
	Next() (WatchEvent[T], error)
	// Close ends the watch and releases its connection. Next then returns an error.
	Close() error
}

// DecodeError reports a list or watch body that is not what the API promises. Errors of this type are not retried
// on the same stream.
type DecodeError struct {
	// What names the thing that was being read, such as "watch event of pods".
	What string
	// Err is the cause.
	Err error
}

// Error names what could not be decoded, and why.
func (e *DecodeError) Error() string { return "decode " + e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }
