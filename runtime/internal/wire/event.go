package wire

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Event is one event of a watch.
type Event[T object.Object] struct {
	// Type is Added, Modified, Deleted or Bookmark. An Error event is the error of Next.
	Type watch.EventType
	// Object is the object after the change; its last state for Deleted; the zero value for Bookmark. The caller owns
	// it, unless a [Known] returned it.
	Object T
	// ResourceVersion is that of the object, or of the bookmark.
	ResourceVersion string
	// InitialEventsEnd is set on the bookmark that ends the initial events.
	InitialEventsEnd bool
	// Known is set when a [Known] returned Object.
	Known bool
}

// event goes past the watch event at the cursor and returns it. An Error event is an apierrors.APIStatus error, all
// other errors are about the form.
func (d *Decoder[T]) event(c *cursor, known Known[T]) (Event[T], error) {
	var (
		event       Event[T]
		typed, held bool   // type and object were there
		late        []byte // the object, if it came before the type
	)
	if b, err := c.peek(); err != nil || b != '{' {
		return event, cmp.Or(err, c.syntax("an event"))
	}
	more, err := c.enter('}')
	for more && err == nil {
		name, nameErr := c.name()
		if nameErr != nil {
			return Event[T]{}, nameErr
		}
		switch {
		case string(name) == "type" && !typed:
			typed = true
			err = decodeEventType(c, &event.Type)
		case string(name) == "object" && !held:
			held = true
			if typed {
				err = d.eventObject(c, &event, known)
			} else {
				late, err = c.span()
			}
		case string(name) == "type" || string(name) == "object":
			err = fmt.Errorf("offset %d: want one %s", c.at, name)
		default:
			err = c.skip()
		}
		if err == nil {
			more, err = c.more('}')
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
	if event.Type == watch.Bookmark {
		return event, nil
	}
	if !event.Known {
		if err = d.settle(event.Object, false); err != nil {
			return Event[T]{}, err
		}
	}
	return event, nil
}

func decodeEventType(c *cursor, into *watch.EventType) error {
	if b, err := c.peek(); err != nil || b != '"' {
		return cmp.Or(err, fmt.Errorf("offset %d: want a string", c.at))
	}
	text, err := c.text()
	*into = watch.EventType(c.strings.text(text))
	return err
}

// lateObject sets the object of event to raw, which is empty if there was none. The cursor stays where it is.
func (d *Decoder[T]) lateObject(c *cursor, raw []byte, event *Event[T]) error {
	before, at := c.data, c.at
	c.reset(raw, 1, true)
	err := d.eventObject(c, event, nil)
	c.reset(before, 0, false)
	c.at = at
	if errors.Is(err, errShort) {
		err = errors.New(errShort.Error()) // more data will not help
	}
	return err
}

// eventObject sets what event holds, of the type that it has, from the value at the cursor.
func (d *Decoder[T]) eventObject(c *cursor, event *Event[T], known Known[T]) error {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		return d.changed(c, event, known)
	case watch.Bookmark:
		var bookmark metav1.PartialObjectMetadata
		if err := d.bookmark.decode(c, reflect.ValueOf(&bookmark).Elem()); err != nil {
			return err
		}
		return d.setBookmark(event, bookmark.GroupVersionKind(), &bookmark)
	case watch.Error:
		span, err := c.span()
		if err != nil {
			return err
		}
		return failure(span, string(JSON))
	}
	return fmt.Errorf("unknown event type %q", event.Type)
}

// changed sets the object of an event that has one.
func (d *Decoder[T]) changed(c *cursor, event *Event[T], known Known[T]) error {
	b, err := c.peek()
	if err != nil && len(c.data) > 0 {
		return err
	}
	if b != '{' {
		return errors.New("it has no object")
	}
	if event.Type != watch.Deleted {
		if obj, ok := d.reuse(c, known); ok {
			event.Object, event.Known = obj, true
			return nil
		}
	}
	event.Object, err = d.object(c)
	return err
}

// setBookmark makes event a bookmark, which is an object of the kind with nothing but a version and annotations.
func (d *Decoder[T]) setBookmark(event *Event[T], kind schema.GroupVersionKind, bookmark *metav1.PartialObjectMetadata) error {
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

// failure is the error of an Error event that holds raw.
func failure(raw []byte, contentType string) error {
	status, ok := Status(raw, contentType)
	if !ok {
		return fmt.Errorf("the error event holds no failure Status: %.200q", raw)
	}
	return apierrors.FromObject(status)
}
