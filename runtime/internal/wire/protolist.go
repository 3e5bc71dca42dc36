package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// listProto reads the list that body is.
func (d *Decoder[T]) listProto(body io.Reader, known Known[T]) (*Page[T], error) {
	r := &protoLister[T]{decoder: d, cursor: d.cursor(), source: d.source(body), known: known, page: &Page[T]{}}
	defer d.release(r.cursor)
	defer r.source.close()
	prefix, err := r.source.need(len(protoPrefix))
	switch {
	case err == io.EOF:
		return nil, &Error{errShort}
	case err != nil:
		return nil, err
	case !bytes.Equal(prefix, protoPrefix):
		return nil, &Error{fmt.Errorf("%w: it does not begin as the API's does", errProto)}
	}
	r.source.start += len(prefix)
	if err := r.wrapper(); err != nil {
		return nil, err
	}
	if !r.listed {
		return nil, &Error{fmt.Errorf("the server sent a %s without content", r.kind)}
	}
	if err := r.checkKind(); err != nil {
		return nil, err
	}
	return r.page, nil
}

// protoLister reads one list, a field at a time.
type protoLister[T object.Object] struct {
	decoder *Decoder[T]
	cursor  *cursor
	source  source
	known   Known[T]
	kind    schema.GroupVersionKind
	listed  bool // there was a list
	page    *Page[T]
}

// wrapper reads what says the kind, and the list within.
func (r *protoLister[T]) wrapper() error {
	for {
		number, length, _, err := r.source.field()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case number == 2 && r.listed:
			return &Error{errors.New("the list is given twice")}
		case number == 2 && r.kind == statusKind:
			return r.status(length)
		case number == 2:
			r.listed = true
			if err := r.checkKind(); err != nil && !r.kind.Empty() {
				return err
			}
			if err := r.list(length); err != nil {
				return err
			}
			continue
		}
		value, err := r.source.chunk(length)
		if err != nil {
			return err
		}
		if number == 1 {
			var meta runtime.TypeMeta
			if err := meta.Unmarshal(value); err != nil {
				return &Error{err}
			}
			r.kind = schema.FromAPIVersionAndKind(meta.APIVersion, meta.Kind)
		}
	}
}

// checkKind checks that what is read is the list that was asked for.
func (r *protoLister[T]) checkKind() error {
	if err := r.decoder.asked.List(r.kind); err != nil {
		return &Error{err}
	}
	return nil
}

// status reads a Status in place of a list, and returns what it says.
func (r *protoLister[T]) status(length int64) error {
	message, err := r.source.chunk(length)
	if err != nil {
		return err
	}
	status := &metav1.Status{}
	if err := status.Unmarshal(message); err != nil {
		return &Error{err}
	}
	return statusError(status)
}

// list reads the message of a list, which is length bytes long.
func (r *protoLister[T]) list(length int64) error {
	for length > 0 {
		number, size, head, err := r.source.field()
		if err == io.EOF {
			return &Error{errShort}
		}
		if err != nil {
			return err
		}
		if length -= int64(head) + size; length < 0 {
			return &Error{errProto}
		}
		value, err := r.source.chunk(size)
		if err != nil {
			return err
		}
		switch number {
		case 1:
			var meta metav1.ListMeta
			if err := meta.Unmarshal(value); err != nil {
				return &Error{err}
			}
			r.page.ResourceVersion, r.page.Continue = meta.ResourceVersion, meta.Continue
		case 2:
			if err := r.item(value); err != nil {
				return &Error{fmt.Errorf("item %d: %w", len(r.page.Items), err)}
			}
		}
	}
	return nil
}

func (r *protoLister[T]) item(message []byte) error {
	obj, reused, err := r.decoder.protoObject(r.cursor, message, r.known)
	if err != nil {
		return err
	}
	if !reused {
		if err := r.decoder.settle(obj, true); err != nil {
			return err
		}
	}
	r.page.Items = append(r.page.Items, obj)
	if r.known != nil {
		r.page.Known = append(r.page.Known, reused)
	}
	return nil
}

// field goes past the head of a protobuf field with a length, which all are that lists have, and returns its number, the
// length, and that of the head. It returns io.EOF if nothing is left.
func (s *source) field() (number int, length int64, head int, err error) {
	for {
		tag, n := binary.Uvarint(s.unused())
		size, m := binary.Uvarint(s.unused()[max(n, 0):])
		switch {
		case n < 0 || n > 0 && m < 0 || n > 0 && (tag&7 != 2 || tag>>3 == 0 || tag>>3 >= 1<<29) || n > 0 && m > 0 && size > math.MaxInt32*1024:
			return 0, 0, 0, &Error{errProto}
		case n > 0 && m > 0:
			s.start += n + m
			return int(tag >> 3), int64(size), n + m, nil
		}
		if err := s.fill(); err != nil {
			if err == io.EOF && s.end > s.start {
				err = &Error{errShort}
			}
			return 0, 0, 0, err
		}
	}
}
