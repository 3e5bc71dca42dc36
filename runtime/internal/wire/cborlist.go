package wire

import (
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// head reads the head of a CBOR item, after the tags before it.
func (s *source) head() (major byte, count uint64, open bool, err error) {
	for {
		major, count, open, n, err := cborHead(s.unused())
		switch {
		case err == nil:
			s.start += n
			if major != cborTag {
				return major, count, open, nil
			}
			continue
		case !errors.Is(err, errShort):
			return 0, 0, false, &Error{err}
		}
		if err := s.fill(); err != nil {
			return 0, 0, false, endOf(err, errShort)
		}
	}
}

// endOf returns err, or what the end of the body means where there should be more.
func endOf(err, end error) error {
	if err == io.EOF {
		return &Error{end}
	}
	return err
}

// item reads one CBOR item, with fill if there is less than that, and returns it. It is valid until more is read. At the
// end item returns io.EOF, within an item io.ErrUnexpectedEOF.
func (s *source) item(fill func() error) ([]byte, error) {
	for {
		data := s.unused()
		ended := s.err == io.EOF
		n, err := cborItem(data, 0)
		switch {
		case err == nil && n > MaxObject, errors.Is(err, errShort) && len(data) >= MaxObject:
			return nil, &Error{errTooLong}
		case err == nil:
			s.start += n
			return data[:n], nil
		case !errors.Is(err, errShort):
			return nil, &Error{err}
		case ended && len(data) > 0:
			return nil, io.ErrUnexpectedEOF
		}
		if err := fill(); err != nil && (err != io.EOF || len(s.unused()) == 0) {
			return nil, err
		}
	}
}

// another reports whether, of count elements of which seen are behind, or of as many as come before a break, there is
// another one.
func (s *source) another(seen, count uint64, open bool) (bool, error) {
	if !open {
		return seen < count, nil
	}
	next, err := s.need(1)
	if err != nil {
		return false, endOf(err, errShort)
	}
	if next[0] == cborBreak {
		s.start++
		return false, nil
	}
	return true, nil
}

// cborLister reads one list, an item at a time.
type cborLister[T object.Object] struct {
	*listReader[T]
}

// listCBOR reads the list that body is.
func (d *Decoder[T]) listCBOR(body io.Reader, known Known[T]) (*Page[T], error) {
	r := cborLister[T]{&listReader[T]{decoder: d, cursor: d.cursor(), source: d.source(body), known: known}}
	defer d.release(r.cursor)
	defer r.source.close()
	if err := r.members(); err != nil {
		return nil, err
	}
	switch _, err := r.source.need(1); {
	case err == io.EOF:
		return r.page()
	case err != nil:
		return nil, err
	}
	return nil, &Error{fmt.Errorf("%w: something follows the list", errCBOR)}
}

func (r cborLister[T]) members() error {
	major, count, open, err := r.source.head()
	if err != nil {
		return err
	}
	if major != cborMap {
		return &Error{errors.New("it is no map")}
	}
	for seen := uint64(0); ; seen++ {
		more, err := r.source.another(seen, count, open)
		if err != nil || !more {
			return err
		}
		key, err := r.source.item(r.source.double)
		if err != nil {
			return truncated(err)
		}
		name, _ := cborKey(key)
		if err := r.member(string(name)); err != nil {
			return err
		}
	}
}

func (r cborLister[T]) member(name string) error {
	if name == "items" {
		return r.list()
	}
	value, err := r.source.item(r.source.double)
	if err != nil {
		return truncated(err)
	}
	switch name {
	case "kind":
		err = direct.Unmarshal(value, &r.kind)
	case "apiVersion":
		err = direct.Unmarshal(value, &r.apiVersion)
	case "metadata":
		var content unstructured.UnstructuredList
		var metadata map[string]any
		err = direct.Unmarshal(value, &metadata)
		content.Object = map[string]any{"metadata": metadata}
		r.meta.ResourceVersion, r.meta.Continue = content.GetResourceVersion(), content.GetContinue()
	default:
		if isOfStatus(name) {
			var said any
			err = direct.Unmarshal(value, &said)
			r.note(name, said)
		}
	}
	if err != nil {
		return &Error{err}
	}
	return nil
}

func (r cborLister[T]) list() error {
	if err := r.begin(); err != nil {
		return err
	}
	major, count, open, err := r.source.head()
	switch {
	case err != nil:
		return err
	case r.listed:
		return &Error{errors.New("items are given twice")}
	case major == cborSimple && count == 22: // null
		return nil
	case major != cborList:
		return &Error{errors.New("the items are no list")}
	}
	r.listed = true
	for seen := uint64(0); ; seen++ {
		more, err := r.source.another(seen, count, open)
		if err != nil || !more {
			return err
		}
		item, err := r.source.item(r.source.double)
		if err != nil {
			return truncated(err)
		}
		obj, reused, err := r.decoder.cborObject(r.cursor, item, r.known)
		if err != nil {
			return &Error{fmt.Errorf("item %d: %w", seen, err)}
		}
		r.add(obj, reused)
	}
}

// truncated is err of an item within a list.
func truncated(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return &Error{errShort}
	}
	return err
}
