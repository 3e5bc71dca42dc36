package wire

import (
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Stream reads the events of one watch. It belongs to one goroutine.
type Stream[T object.Object] struct {
	decoder *Decoder[T]
	cursor  *cursor
	frames  frames
	known   Known[T]
	read    func(*Stream[T]) (Event[T], error) // by the format
	ready   []Event[T]                         // decoded, and not yet returned
	alone   bool                               // this goroutine decodes all: events are not one a line
	err     error                              // what ended the stream
}

// Next returns the next event, as soon as it has arrived. It returns io.EOF at the end of the body,
// io.ErrUnexpectedEOF within an event, an apierrors.APIStatus error for an Error event, an *[Error] for what is no
// event, and any other error of the body as it is. After an error the stream is over, and Next returns it again.
func (s *Stream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	event, err := s.read(s)
	if err != nil {
		s.err = err
		s.decoder.release(s.cursor)
		s.frames.close()
		s.cursor, s.frames, s.known = nil, frames{}, nil
		return Event[T]{}, err
	}
	if event.Type != watch.Bookmark {
		event.ResourceVersion = event.Object.GetResourceVersion()
	}
	if event.InitialEventsEnd {
		s.known = nil // what comes now is new
	}
	return event, nil
}

// nextJSON returns the next event of a watch: objects, one after the other.
func (s *Stream[T]) nextJSON() (Event[T], error) {
	if len(s.ready) == 0 && !s.alone {
		if workers := s.decoder.workers(len(s.frames.unused())); workers > 1 {
			s.decodeBacklog(workers)
		}
	}
	if len(s.ready) > 0 {
		event := s.ready[0]
		s.ready[0] = Event[T]{}
		if s.ready = s.ready[1:]; len(s.ready) == 0 {
			s.ready = nil
		}
		return event, nil
	}
	frame, whole, err := s.frames.next()
	if err != nil {
		return Event[T]{}, err
	}
	s.cursor.reset(frame, 0, whole)
	event, err := s.decoder.event(s.cursor, s.known)
	if errors.Is(err, errShort) && !whole {
		if frame, err = s.frames.whole(); err != nil {
			return event, err
		}
		s.cursor.reset(frame, 0, true)
		event, err = s.decoder.event(s.cursor, s.known)
	}
	s.frames.used(s.cursor.at)
	return event, formError(err)
}

// formError returns err, as an *Error unless it is what the server said, or one already.
func formError(err error) error {
	if err == nil {
		return nil
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	if malformed, ok := errors.AsType[*Error](err); ok {
		return malformed
	}
	return &Error{err}
}

// List reads the list that body is, in the format that contentType names, to its end. What known has is not built again;
// it may be nil. A format that was not asked for and what is no list of the kind are an *[Error], a failure Status is an
// apierrors.APIStatus error; an error of the body is returned as it is.
func (d *Decoder[T]) List(body io.Reader, contentType string, known Known[T]) (*Page[T], error) {
	format, err := FormatOf(contentType, d.formats...)
	switch {
	case err != nil:
		return nil, err
	case format == Protobuf:
		return d.listProto(body, known)
	case format == CBOR:
		return d.listCBOR(body, known)
	}
	return d.listJSON(body, known)
}

// Watch returns the stream of the events that body is, in the format that contentType names. Of the events before the
// end of the initial ones, what known has is not built again; it may be nil. A format that was not asked for is the error
// of the first Next.
func (d *Decoder[T]) Watch(body io.Reader, contentType string, known Known[T]) *Stream[T] {
	s := &Stream[T]{decoder: d, cursor: d.cursor(), frames: frames{source: d.source(body)}, known: known}
	format, err := FormatOf(contentType, d.formats...)
	switch {
	case err != nil:
		s.read = func(*Stream[T]) (Event[T], error) { return Event[T]{}, err }
	case format == Protobuf:
		s.read = (*Stream[T]).nextProto
	case format == CBOR:
		s.read = (*Stream[T]).nextCBOR
	default:
		s.read = (*Stream[T]).nextJSON
	}
	return s
}
