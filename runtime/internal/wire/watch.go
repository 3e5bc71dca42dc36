package wire

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Stream reads the events of one watch. It is not safe for concurrent use.
type Stream[T object.Object] struct {
	decoder *Decoder[T]
	cursor  *cursor
	frames  frames
	known   Known[T]
	read    func(*Stream[T]) (Event[T], error) // reads an event in the stream's format
	err     error                              // error that ended the stream
}

// Next returns the next event as soon as it has arrived. It returns io.EOF at the end of the body, io.ErrUnexpectedEOF
// if the body ends within an event, an apierrors.APIStatus error for an Error event, an *[Error] for invalid data, and
// any other error of the body unchanged. After an error the stream has ended, and Next returns the same error.
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
		s.known = nil // later objects are new
	}
	return event, nil
}

// nextJSON returns the next event of a watch, which consists of consecutive objects.
func (s *Stream[T]) nextJSON() (Event[T], error) {
	frame, whole, err := s.frames.next(true)
	if err != nil {
		return Event[T]{}, err
	}
	s.cursor.reset(frame, 0, whole)
	event, err := s.decoder.event(s.cursor, s.known)
	if errors.Is(err, errShort) && !whole {
		if frame, _, err = s.frames.next(false); err != nil {
			return event, err
		}
		s.cursor.reset(frame, 0, true)
		event, err = s.decoder.event(s.cursor, s.known)
	}
	s.frames.used(s.cursor.at)
	if err != nil {
		return event, formError(instead(err, frame, JSON))
	}
	event.Bytes = s.cursor.at
	return event, nil
}

// instead returns the failure in frame if that is a Status, which may replace the events, and otherwise err.
func instead(err error, frame []byte, format Format) error {
	if status, ok := Status(frame, string(format)); ok {
		return apierrors.FromObject(status)
	}
	return err
}

// formError returns err as an *Error, unless it is an error of the server or already an *Error.
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

// frames finds watch events in a body. The events are consecutive JSON objects, separated by white space. Servers end
// each event with a line break, so a frame is first assumed to end at a line break.
type frames struct {
	source
	scan    scanner
	scanned int // number of bytes of the frame that scan has seen
}

// next returns the next event, and reports whether it is certainly complete. With lines, the event may end at a line
// break within it; then call next without lines, which finds the end of the event by its brackets. The event is valid
// until the call of used. next returns io.EOF at the end of the body, io.ErrUnexpectedEOF if the body ends within an
// event, and any other error of the body unchanged.
func (f *frames) next(lines bool) (frame []byte, whole bool, err error) {
	for {
		for f.start < f.end && isSpace(f.buf[f.start]) {
			f.start++
		}
		if data := f.unused(); len(data) > 0 {
			if data[0] != '{' {
				return nil, false, &Error{fmt.Errorf("it begins with %q", data[0])}
			}
			if n := bytes.IndexByte(data[f.scanned:], '\n'); lines && n >= 0 {
				return data[:f.scanned+n], false, nil
			}
		}
		if frame := f.balanced(); frame != nil {
			return frame, true, nil
		}
		if len(f.unused()) >= MaxObject {
			return nil, false, &Error{errTooLong}
		}
		if err := f.fill(); err != nil {
			if err == io.EOF && f.start < f.end {
				err = io.ErrUnexpectedEOF
			}
			return nil, false, err
		}
	}
}

// balanced returns the event if its last bracket has been read, or nil.
func (f *frames) balanced() []byte {
	data := f.unused()
	for ; f.scanned < len(data); f.scanned++ {
		if f.scan.step(data[f.scanned]) {
			return data[:f.scanned+1]
		}
	}
	return nil
}

// used records that the caller has consumed the first n bytes of the last frame as one event.
func (f *frames) used(n int) {
	f.start += n
	f.scan, f.scanned = scanner{}, 0
}

// scanner finds the end of a JSON object. It considers only brackets and strings.
type scanner struct {
	depth    int
	inString bool
	escaped  bool
}

// step consumes the next byte and reports whether it is the last of the object.
func (s *scanner) step(b byte) (done bool) {
	switch {
	case s.escaped:
		s.escaped = false
	case s.inString:
		switch b {
		case '\\':
			s.escaped = true
		case '"':
			s.inString = false
		}
	case b == '"':
		s.inString = true
	case b == '{' || b == '[':
		s.depth++
	case b == '}' || b == ']':
		s.depth--
	}
	return s.depth == 0
}

// Event is one event of a watch.
type Event[T object.Object] struct {
	// Type is Added, Modified, Deleted or Bookmark. Next returns Error events as errors.
	Type watch.EventType
	// Object is the object after the change. For Deleted it is the last state, and for Bookmark the zero value. The caller
	// owns it, unless a [Known] returned it.
	Object T
	// ResourceVersion is the version of the object or bookmark.
	ResourceVersion string
	// InitialEventsEnd is set on the bookmark that ends the initial events.
	InitialEventsEnd bool
	// Bytes is the size of the event on the wire, or 0 if it is unknown.
	Bytes int
}

// event skips the watch event at the cursor and returns it. An Error event is returned as an apierrors.APIStatus error;
// all other errors concern the format.
func (d *Decoder[T]) event(c *cursor, known Known[T]) (Event[T], error) {
	var (
		event       Event[T]
		typed, held bool   // type and object were present
		reused      bool   // known returned the object
		late        []byte // the object, if it preceded the type
	)
	if b, err := c.peek(); err != nil || b != '{' {
		return event, cmp.Or(err, c.syntax("an event"))
	}
	name, more, err := c.nextName(c.enter('}'))
	for ; more; name, more, err = c.nextName(c.more('}')) {
		switch {
		case string(name) == "type" && !typed:
			typed = true
			err = decodeEventType(c, &event.Type)
		case string(name) == "object" && !held:
			held = true
			if typed {
				reused, err = d.eventObject(c, &event, known)
			} else {
				late, err = c.span()
			}
		case string(name) == "type" || string(name) == "object":
			err = fmt.Errorf("offset %d: want one %s", c.at, name)
		default:
			err = c.skip()
		}
		if err != nil {
			return Event[T]{}, err
		}
	}
	if err != nil {
		return Event[T]{}, err
	}
	if late != nil || !held {
		if err = d.lateObject(c, late, &event); err != nil {
			return Event[T]{}, err
		}
	}
	if event.Type != watch.Bookmark && !reused {
		err = d.accept(event.Object, false)
	}
	return event, err
}

func decodeEventType(c *cursor, into *watch.EventType) error {
	if c.data[c.at] != '"' {
		return fmt.Errorf("offset %d: want a string", c.at)
	}
	text, err := c.text()
	*into = watch.EventType(c.strings.text(text))
	return err
}

// lateObject sets the object of event to raw, which may be empty. The cursor does not move.
func (d *Decoder[T]) lateObject(c *cursor, raw []byte, event *Event[T]) error {
	before, at := c.data, c.at
	c.reset(raw, 1, true)
	_, err := d.eventObject(c, event, nil)
	c.reset(before, 0, false)
	c.at = at
	if errors.Is(err, errShort) {
		err = errors.New(errShort.Error()) // because the data ends here
	}
	return err
}

// eventObject decodes the object of event, according to the type of event, from the value at the cursor. It reports
// whether known returned the object.
func (d *Decoder[T]) eventObject(c *cursor, event *Event[T], known Known[T]) (reused bool, err error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		b, err := c.peek()
		switch {
		case err != nil && len(c.data) > 0:
			return false, err
		case b != '{':
			return false, errors.New("it has no object")
		case event.Type != watch.Deleted:
			if event.Object, reused = d.reuse(c, known); reused {
				return true, nil
			}
		}
		event.Object, err = d.object(c)
		return false, err
	case watch.Bookmark:
		var bookmark metav1.PartialObjectMetadata
		if err := d.bookmark.decode(c, reflect.ValueOf(&bookmark).Elem()); err != nil {
			return false, err
		}
		return false, d.setBookmark(event, bookmark.GroupVersionKind(), &bookmark)
	case watch.Error:
		span, err := c.span()
		if err != nil {
			return false, err
		}
		return false, failure(span, JSON)
	}
	return false, fmt.Errorf("unknown event type %q", event.Type)
}

// setBookmark makes event a bookmark. A bookmark is an object of the kind that has only a version and annotations.
func (d *Decoder[T]) setBookmark(event *Event[T], kind schema.GroupVersionKind,
	bookmark *metav1.PartialObjectMetadata) error {
	if err := d.asked.Object(kind); err != nil {
		return err
	}
	if bookmark.ResourceVersion == "" {
		return errors.New("the bookmark has no resourceVersion")
	}
	event.ResourceVersion = bookmark.ResourceVersion
	event.InitialEventsEnd = bookmark.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	return nil
}

// failure returns the error of an Error event with raw.
func failure(raw []byte, format Format) error {
	return instead(fmt.Errorf("the error event holds no failure Status: %.200q", raw), raw, format)
}
