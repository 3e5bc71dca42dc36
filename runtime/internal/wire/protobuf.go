package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// protoObject returns the object whose message data is, and whether known has it.
func (d *Decoder[T]) protoObject(c *cursor, data []byte, known Known[T]) (obj T, reused bool, err error) {
	if known != nil {
		if id, ok := protoIdentity(data); ok {
			if obj, ok := known(id); ok {
				return obj, true, nil
			}
		}
	}
	if d.proto != nil {
		if c.scratch, err = d.proto.appendMasked(c.scratch[:0], data); err != nil {
			return obj, false, err
		}
		data = c.scratch
	}
	built := d.empty()
	message, ok := any(built).(protoMessage)
	if !ok {
		return obj, false, fmt.Errorf("the server sent protobuf, which %T does not have", built)
	}
	if err := message.Unmarshal(data); err != nil {
		return obj, false, err
	}
	return built, false, nil
}

// unwrap returns the kind and the message of something that says its kind, as servers send it outside of lists.
func unwrap(data []byte) (kind schema.GroupVersionKind, message []byte, err error) {
	data, ok := bytes.CutPrefix(data, protoPrefix)
	if !ok {
		return kind, nil, fmt.Errorf("%w: it does not begin as the API's does", errProto)
	}
	for len(data) > 0 {
		f, rest, err := nextField(data)
		if err != nil {
			return kind, nil, err
		}
		data = rest
		switch f.number {
		case 1:
			var meta runtime.TypeMeta
			if err := meta.Unmarshal(f.value); err != nil {
				return kind, nil, err
			}
			kind = schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
		case 2:
			message = f.value
		}
	}
	return kind, message, nil
}

// nextProto returns the next event of a watch: messages with their length before them.
func (s *Stream[T]) nextProto() (Event[T], error) {
	source := &s.frames.source
	head, err := source.need(4)
	if err != nil {
		if err == io.EOF && len(source.unused()) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Event[T]{}, err
	}
	length := int64(binary.BigEndian.Uint32(head))
	if length > MaxObject {
		return Event[T]{}, &Error{errTooLong}
	}
	frame, err := source.need(4 + int(length))
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Event[T]{}, err
	}
	source.start += len(frame)
	event, err := s.decoder.protoEvent(s.cursor, frame[4:], s.known)
	return event, formError(err)
}

func (d *Decoder[T]) protoEvent(c *cursor, frame []byte, known Known[T]) (Event[T], error) {
	var event Event[T]
	var raw []byte
	for len(frame) > 0 {
		f, rest, err := nextField(frame)
		if err != nil {
			return Event[T]{}, err
		}
		frame = rest
		switch f.number {
		case 1:
			event.Type = watch.EventType(c.strings.text(f.value))
		case 2:
			if raw != nil {
				return Event[T]{}, errors.New("want one object")
			}
			if raw, err = rawExtension(f.value); err != nil {
				return Event[T]{}, err
			}
		}
	}
	if raw == nil {
		if event.Type == watch.Added || event.Type == watch.Modified || event.Type == watch.Deleted {
			return Event[T]{}, errors.New("it has no object")
		}
	}
	if err := d.setProto(c, &event, raw, known); err != nil {
		return Event[T]{}, err
	}
	return event, nil
}

// rawExtension returns what the message of a RawExtension holds, which is its only field.
func rawExtension(message []byte) (raw []byte, err error) {
	for len(message) > 0 {
		var f protoField
		if f, message, err = nextField(message); err != nil {
			return nil, err
		}
		if f.number == 1 && f.value != nil {
			raw = f.value
		}
	}
	if raw == nil {
		return nil, errors.New("it has no object")
	}
	return raw, nil
}

// setProto sets the object of event to what raw is.
func (d *Decoder[T]) setProto(c *cursor, event *Event[T], raw []byte, known Known[T]) error {
	kind, message, err := unwrap(raw)
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if err != nil {
			return err
		}
		if event.Type == watch.Deleted {
			known = nil
		}
		if event.Object, event.Known, err = d.protoObject(c, message, known); err != nil || event.Known {
			return err
		}
		event.Object.GetObjectKind().SetGroupVersionKind(kind)
		return d.settle(event.Object, false)
	case watch.Bookmark:
		if err != nil {
			return err
		}
		var bookmark metav1.PartialObjectMetadata
		if err := bookmark.Unmarshal(message); err != nil {
			return err
		}
		return d.setBookmark(event, kind, &bookmark)
	case watch.Error:
		return failure(raw, string(Protobuf))
	}
	return fmt.Errorf("unknown event type %q", event.Type)
}
