package wire

import (
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Stream reads the events of one watch. It belongs to one goroutine.
type Stream[T object.Object] struct {
	decoder *Decoder[T]
	cursor  *cursor
	frames  frames
	known   Known[T]
	err     error // what ended the stream
}

// Next returns the next event, as soon as it has arrived. It returns io.EOF at the end of the body,
// io.ErrUnexpectedEOF within an event, an apierrors.APIStatus error for an Error event, an *[Error] for what is no
// event, and any other error of the body as it is. After an error the stream is over, and Next returns it again.
func (s *Stream[T]) Next() (Event[T], error) {
	if s.err != nil {
		return Event[T]{}, s.err
	}
	event, err := s.next()
	if err != nil {
		s.err = err
		s.decoder.release(s.cursor)
		s.cursor, s.frames, s.known = nil, frames{}, nil
		return Event[T]{}, err
	}
	if event.InitialEventsEnd {
		s.known = nil // what comes now is new
	}
	return event, nil
}

func (s *Stream[T]) next() (Event[T], error) {
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

// formError returns err, as an *Error unless it is what the server said.
func formError(err error) error {
	if err == nil {
		return nil
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
	return &Error{err}
}

// List reads the list that body is, in the format that contentType names, to its end. What known has is not built again;
// it may be nil. What is no list is an *[Error]; an error of the body is returned as it is.
func (d *Decoder[T]) List(body io.Reader, contentType string, known Known[T]) (*Page[T], error) {
	return d.listJSON(body, known)
}

// Watch returns the stream of the events that body is, in the format that contentType names. Of the events before the
// end of the initial ones, what known has is not built again; it may be nil.
func (d *Decoder[T]) Watch(body io.Reader, contentType string, known Known[T]) (*Stream[T], error) {
	return &Stream[T]{decoder: d, cursor: d.cursor(), frames: frames{source: source{body: body}}, known: known}, nil
}
