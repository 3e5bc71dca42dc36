package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// newCBOR returns apimachinery's codec for objects like prototype.
func newCBOR[T object.Object](prototype T, gvk schema.GroupVersionKind) (runtime.Decoder, error) {
	if gvk.Version == "" || gvk.Kind == "" {
		return nil, errors.New("CBOR needs a kind")
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(gvk, prototype)
	if _, ok := any(prototype).(*metav1.PartialObjectMetadata); ok {
		scheme.AddKnownTypeWithName(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"), prototype)
	}
	scheme.AddKnownTypeWithName(cborMetadata, &metav1.PartialObjectMetadataList{})
	return cbor.NewSerializer(scheme, scheme), nil
}

// cborObject returns the object that the item data is, and whether known has it.
func (d *Decoder[T]) cborObject(c *cursor, data []byte, known Known[T]) (obj T, reused bool, err error) {
	data = untagged(data)
	if len(data) == 0 || data[0]>>5 != cborMap {
		return obj, false, errors.New("it has no object")
	}
	if d.cbor == nil {
		return obj, false, errors.New("the server sent CBOR, which it was not asked for")
	}
	if known != nil {
		if id, ok := cborIdentity(data); ok {
			if obj, ok := known(id); ok {
				return obj, true, nil
			}
		}
	}
	if c.scratch, err = d.mask.appendCBOR(c.scratch[:0], data); err != nil {
		return obj, false, err
	}
	built := d.empty()
	if u, ok := any(built).(*unstructured.Unstructured); ok {
		return built, false, direct.Unmarshal(c.scratch, &u.Object)
	}
	if got := cborKind(c, data); !got.Empty() {
		if err := d.asked.Object(got); err != nil {
			return obj, false, err // the codec would say that it does not know the kind
		}
	}
	decoded, _, err := d.cbor.Decode(c.scratch, &d.gvk, built)
	if err == nil && decoded != runtime.Object(built) {
		return obj, false, fmt.Errorf("the server sent %s, not %s", decoded.GetObjectKind().GroupVersionKind(), d.gvk)
	}
	return built, false, err
}

// cborKind returns the kind that the map data says to be of.
func cborKind(c *cursor, data []byte) schema.GroupVersionKind {
	var apiVersion, kind string
	_, _ = cborMembers(data, func(key, value []byte) error { // which is well-formed
		name, _ := cborKey(key)
		text, _ := cborKey(untagged(value))
		switch string(name) {
		case "apiVersion":
			apiVersion = c.strings.text(text)
		case "kind":
			kind = c.strings.text(text)
		}
		return nil
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// cborIdentity returns what the map data identifies, and reports false if that cannot be told.
func cborIdentity(data []byte) (id Identity, ok bool) {
	found := 0
	_, err := cborMembers(data, func(key, value []byte) error {
		if name, _ := cborKey(key); string(name) != "metadata" {
			return nil
		}
		found++
		_, err := cborMembers(untagged(value), func(key, value []byte) error {
			var part *[]byte
			switch name, _ := cborKey(key); string(name) {
			case "name":
				part = &id.Name
			case "namespace":
				part = &id.Namespace
			case "uid":
				part = &id.UID
			case "resourceVersion":
				part = &id.ResourceVersion
			default:
				return nil
			}
			text, ok := cborKey(untagged(value))
			if !ok || *part != nil {
				return errCBOR // or there is one twice
			}
			*part = text
			return nil
		})
		return err
	})
	return id, err == nil && found == 1 && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}

// nextCBOR returns the next event of a watch: items, one after the other.
func (s *Stream[T]) nextCBOR() (Event[T], error) {
	frame, err := s.frames.item(s.frames.fill)
	if err != nil {
		return Event[T]{}, err
	}
	event, err := s.decoder.cborEvent(s.cursor, frame, s.known)
	if err != nil {
		return Event[T]{}, formError(instead(err, frame, CBOR))
	}
	return event, nil
}

func (d *Decoder[T]) cborEvent(c *cursor, frame []byte, known Known[T]) (Event[T], error) {
	var event Event[T]
	var raw []byte
	isMap, err := cborMembers(untagged(frame), func(key, value []byte) error {
		name, ok := cborKey(key)
		if !ok {
			return errCBOR
		}
		switch string(name) {
		case "type":
			text, ok := cborKey(untagged(value))
			if !ok || event.Type != "" {
				return errors.New("want one type, a string")
			}
			event.Type = watch.EventType(c.strings.text(text))
		case "object":
			if raw != nil {
				return errors.New("want one object")
			}
			raw = value
		}
		return nil
	})
	if err == nil && !isMap {
		err = errors.New("it is no map")
	}
	if err == nil {
		err = d.setCBOR(c, &event, raw, known)
	}
	return event, err
}

// setCBOR sets the object of event to what raw is.
func (d *Decoder[T]) setCBOR(c *cursor, event *Event[T], raw []byte, known Known[T]) (err error) {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if event.Type == watch.Deleted {
			known = nil
		}
		var reused bool
		if event.Object, reused, err = d.cborObject(c, raw, known); err == nil && !reused {
			err = d.accept(event.Object, false)
		}
		return err
	case watch.Error:
		return failure(raw, string(CBOR))
	case watch.Bookmark:
		var content unstructured.Unstructured
		if err := direct.Unmarshal(raw, &content.Object); err != nil {
			return err
		}
		bookmark := &metav1.PartialObjectMetadata{}
		bookmark.ResourceVersion, bookmark.Annotations = content.GetResourceVersion(), content.GetAnnotations()
		return d.setBookmark(event, content.GroupVersionKind(), bookmark)
	}
	return fmt.Errorf("unknown event type %q", event.Type)
}

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
	untyped bool
	said    map[string]bool // of what a list is known by
}

// listCBOR reads the list that body is.
func (d *Decoder[T]) listCBOR(body io.Reader, known Known[T]) (*Page[T], error) {
	_, untyped := any(d.empty()).(*unstructured.Unstructured)
	r := cborLister[T]{&listReader[T]{decoder: d, cursor: d.cursor(), source: d.source(body), known: known}, untyped, make(map[string]bool)}
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
		name, ok := cborKey(key)
		if !ok {
			return &Error{errCBOR}
		}
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
	if name == "kind" || name == "apiVersion" || name == "metadata" {
		if r.said[name] {
			return &Error{fmt.Errorf("the list has its %s twice", name)}
		}
		r.said[name] = true
	}
	switch name {
	case "kind":
		err = direct.Unmarshal(value, &r.kind)
	case "apiVersion":
		err = direct.Unmarshal(value, &r.apiVersion)
	case "metadata":
		err = r.metadata(value)
	default:
		// What nobody knows is passed over, as upstream does, and in a list of untyped objects read: there no name may be twice.
		var said any
		if r.untyped || isOfStatus(name) {
			err = direct.Unmarshal(value, &said)
		}
		if isOfStatus(name) {
			r.note(name, said)
		}
	}
	if err != nil {
		return &Error{err}
	}
	return nil
}

// cborMetadata is what the metadata of a list are read as.
var cborMetadata = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")

// metadata reads the metadata of a list as upstream does: those of Go types may have what nobody knows, whatever that is.
func (r cborLister[T]) metadata(value []byte) error {
	if codec := r.decoder.cbor; !r.untyped && codec != nil {
		var list metav1.PartialObjectMetadataList
		_, _, err := codec.Decode(append([]byte("\xa1\x68metadata"), value...), &cborMetadata, &list)
		r.meta = list.ListMeta
		return err
	}
	var metadata map[string]any
	err := direct.Unmarshal(value, &metadata)
	list := unstructured.UnstructuredList{Object: map[string]any{"metadata": metadata}}
	r.meta.ResourceVersion, r.meta.Continue = list.GetResourceVersion(), list.GetContinue()
	return err
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

var errCBOR = errors.New("malformed CBOR")

// The major types of CBOR items, and the additional information that says something else than a length.
const (
	cborBytes  = 2
	cborText   = 3
	cborList   = 4
	cborMap    = 5
	cborTag    = 6
	cborSimple = 7
	cborOpen   = 31 // the length is not said: a break ends the item
	cborBreak  = 0xff
)

// cborHead reads the head of the item that data begins with: its major type, its argument and whether it is open, and the
// length of the head. It fails with errShort if there is less than that.
func cborHead(data []byte) (major byte, argument uint64, open bool, n int, err error) {
	if len(data) == 0 {
		return 0, 0, false, 0, errShort
	}
	major, info := data[0]>>5, data[0]&31
	switch {
	case info < 24:
		return major, uint64(info), false, 1, nil
	case info == cborOpen && major >= cborBytes && major <= cborMap:
		return major, 0, true, 1, nil
	case info > 27:
		return 0, 0, false, 0, errCBOR
	}
	size := 1 << (info - 24)
	if len(data) < 1+size {
		return 0, 0, false, 0, errShort
	}
	var wide [8]byte
	copy(wide[8-size:], data[1:1+size])
	return major, binary.BigEndian.Uint64(wide[:]), false, 1 + size, nil
}

// cborItem returns the length of the item that data begins with, which is depth levels deep. It fails with errShort if
// data ends before it.
func cborItem(data []byte, depth int) (int, error) {
	if depth > maxDepth {
		return 0, errCBOR
	}
	major, argument, open, n, err := cborHead(data)
	if err != nil {
		return 0, err
	}
	switch major {
	case cborBytes, cborText:
		if open {
			return cborElements(data, n, 1<<62, true, depth)
		}
		if argument > uint64(len(data)-n) {
			return 0, errShort
		}
		return n + int(argument), nil
	case cborList:
		return cborElements(data, n, argument, open, depth)
	case cborMap:
		if argument > 1<<32 {
			return 0, errCBOR
		}
		return cborElements(data, n, 2*argument, open, depth)
	case cborTag:
		inner, err := cborItem(data[n:], depth+1)
		return n + inner, err
	}
	return n, nil
}

// cborElements returns the length of an item with count elements that begin at n, or with as many as come before a break.
func cborElements(data []byte, n int, count uint64, open bool, depth int) (int, error) {
	for i := uint64(0); open || i < count; i++ {
		if n >= len(data) {
			return 0, errShort
		}
		if open && data[n] == cborBreak {
			return n + 1, nil
		}
		inner, err := cborItem(data[n:], depth+1)
		if err != nil {
			return 0, err
		}
		n += inner
	}
	return n, nil
}

// untagged returns the item within the tags that data begins with.
func untagged(data []byte) []byte {
	for {
		major, _, _, n, err := cborHead(data)
		if err != nil || major != cborTag {
			return data
		}
		data = data[n:]
	}
}

// cborKey returns the text that the item data is, if it is one. That is of data, unless it is in pieces.
func cborKey(data []byte) ([]byte, bool) {
	major, length, open, n, err := cborHead(data)
	if err != nil || major != cborText && major != cborBytes {
		return nil, false
	}
	if !open {
		return data[n:], uint64(len(data)-n) == length && (major == cborBytes || utf8.Valid(data[n:]))
	}
	var all []byte
	for n < len(data) && data[n] != cborBreak {
		kind, length, open, head, err := cborHead(data[n:])
		if err != nil || open || kind != major || length > uint64(len(data)-n-head) {
			return nil, false
		}
		n += head
		if major == cborText && !utf8.Valid(data[n:n+int(length)]) {
			return nil, false
		}
		all = append(all, data[n:n+int(length)]...)
		n += int(length)
	}
	return all, n == len(data)-1
}

// cborMembers calls member with each key and value of the map that data is. It reports false for what is no map.
func cborMembers(data []byte, member func(key, value []byte) error) (bool, error) {
	major, count, open, n, err := cborHead(data)
	if err != nil || major != cborMap {
		return false, err
	}
	for i := uint64(0); open || i < count; i++ {
		if open && n < len(data) && data[n] == cborBreak {
			break
		}
		k, err := cborItem(data[n:], 1)
		if err != nil {
			return true, err
		}
		v, err := cborItem(data[n+k:], 1)
		if err != nil {
			return true, err
		}
		if err := member(data[n:n+k], data[n+k:n+k+v]); err != nil {
			return true, err
		}
		n += k + v
	}
	return true, nil
}

// appendCBOR appends what m keeps of the item data to b.
func (m *mask) appendCBOR(b, data []byte) ([]byte, error) {
	if m == nil {
		return append(b, data...), nil
	}
	data = untagged(data)
	major, count, open, n, err := cborHead(data)
	switch {
	case err != nil:
		return nil, err
	case major == cborList:
		b = append(b, data[:n]...)
		for i := uint64(0); open || i < count; i++ {
			if open && data[n] == cborBreak {
				return append(b, cborBreak), nil
			}
			size, err := cborItem(data[n:], 1)
			if err != nil {
				return nil, err
			}
			if b, err = m.appendCBOR(b, data[n:n+size]); err != nil {
				return nil, err
			}
			n += size
		}
		return b, nil
	case major != cborMap:
		return append(b, data...), nil
	}
	b = append(b, cborMap<<5|cborOpen)
	_, err = cborMembers(data, func(key, value []byte) (err error) {
		name, ok := cborKey(key)
		if !ok {
			return errCBOR
		}
		child, kept := m.member(string(name))
		if kept {
			b, err = child.appendCBOR(append(b, key...), value)
		}
		return err
	})
	return append(b, cborBreak), err
}
