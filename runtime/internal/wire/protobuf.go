package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// protoObject returns the object in the message data, and whether known returned it.
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
	built := reflect.New(d.form).Interface().(T)
	message, ok := any(built).(protoMessage)
	if !ok {
		return obj, false, fmt.Errorf("the server sent protobuf, which %T does not have", built)
	}
	if err := message.Unmarshal(data); err != nil {
		return obj, false, err
	}
	return built, false, nil
}

// Highest field numbers of runtime.Unknown, of metav1.WatchEvent and of lists. All these fields have a length.
const (
	unknownFields = 4
	eventFields   = 2
	listFields    = 2
)

// unwrap returns the kind and the message of a value outside of lists, which servers wrap in a runtime.Unknown.
func unwrap(data []byte) (kind schema.GroupVersionKind, message []byte, err error) {
	var typeMeta runtime.TypeMeta // may arrive in parts
	data, ok := bytes.CutPrefix(data, protoPrefix)
	if !ok {
		return kind, nil, errPrefix
	}
	for len(data) > 0 {
		f, rest, err := nextField(data, unknownFields)
		if err != nil {
			return kind, nil, err
		}
		data = rest
		switch f.number {
		case 1:
			if err := typeMeta.Unmarshal(f.value); err != nil {
				return kind, nil, err
			}
			kind = schema.FromAPIVersionAndKind(typeMeta.APIVersion, typeMeta.Kind)
		case 2:
			message = f.value
		}
	}
	return kind, message, nil
}

// nextProto returns the next event of a watch, which consists of messages with a length prefix.
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
		if bytes.Equal(head, protoPrefix) { // an object instead of events
			_, _ = source.need(MaxObject)
		}
		return Event[T]{}, formError(instead(errTooLong, source.unused(), Protobuf))
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
	event.Bytes = len(frame)
	return event, formError(err)
}

func (d *Decoder[T]) protoEvent(c *cursor, frame []byte, known Known[T]) (Event[T], error) {
	var event Event[T]
	var raw []byte
	for len(frame) > 0 {
		f, rest, err := nextField(frame, eventFields)
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
	if raw == nil && (event.Type == watch.Added || event.Type == watch.Modified || event.Type == watch.Deleted) {
		return Event[T]{}, errors.New("it has no object")
	}
	err := d.setProto(c, &event, raw, known)
	return event, err
}

// rawExtension returns the content of a RawExtension message, its only field.
func rawExtension(message []byte) (raw []byte, err error) {
	for len(message) > 0 {
		var f protoField
		if f, message, err = nextField(message, 1); err != nil {
			return nil, err
		}
		if f.number == 1 {
			raw = f.value
		}
	}
	if raw == nil {
		return nil, errors.New("it has no object")
	}
	return raw, nil
}

// setProto sets the object of event to raw.
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
		var reused bool
		if event.Object, reused, err = d.protoObject(c, message, known); err != nil || reused {
			return err
		}
		event.Object.GetObjectKind().SetGroupVersionKind(kind)
		return d.accept(event.Object, false)
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
		return failure(raw, Protobuf)
	}
	return fmt.Errorf("unknown event type %q", event.Type)
}

func (d *Decoder[T]) listProto(body io.Reader, known Known[T]) (*Page[T], error) {
	r := &protoLister[T]{decoder: d, cursor: d.cursor(), source: d.source(body), known: known, page: &Page[T]{}}
	defer d.release(r.cursor)
	defer r.source.close()
	prefix, err := r.source.chunk(int64(len(protoPrefix)))
	switch {
	case err != nil:
		return nil, err
	case !bytes.Equal(prefix, protoPrefix):
		return nil, &Error{errPrefix}
	}
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

// protoLister reads one list, one field at a time.
type protoLister[T object.Object] struct {
	decoder *Decoder[T]
	cursor  *cursor
	source  source
	known   Known[T]
	listed  bool // a list was present
	page    *Page[T]

	// typeMeta and meta may arrive in parts.
	typeMeta runtime.TypeMeta
	kind     schema.GroupVersionKind // kind in typeMeta
	meta     metav1.ListMeta
}

// wrapper reads the kind and the list in it.
func (r *protoLister[T]) wrapper() error {
	for {
		number, length, _, err := r.source.field(unknownFields)
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
			if r.kind.Kind != "" && r.kind.Version != "" { // otherwise it is checked at the end
				if err := r.checkKind(); err != nil {
					return err
				}
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
			if err := r.typeMeta.Unmarshal(value); err != nil {
				return &Error{err}
			}
			r.kind = schema.FromAPIVersionAndKind(r.typeMeta.APIVersion, r.typeMeta.Kind)
		}
	}
}

// checkKind checks that the list is the requested one.
func (r *protoLister[T]) checkKind() error {
	if err := r.decoder.asked.List(r.kind); err != nil {
		return &Error{err}
	}
	return nil
}

// status reads a Status instead of a list, and returns its error.
func (r *protoLister[T]) status(length int64) error {
	message, err := r.source.chunk(length)
	if err != nil {
		return err
	}
	status := &metav1.Status{}
	if err := status.Unmarshal(message); err != nil {
		return &Error{err}
	}
	return StatusError(status)
}

// list reads the message of a list of length bytes.
func (r *protoLister[T]) list(length int64) error {
	for length > 0 {
		number, size, head, err := r.source.field(listFields)
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
			if err := r.meta.Unmarshal(value); err != nil {
				return &Error{err}
			}
			r.page.ResourceVersion, r.page.Continue = r.meta.ResourceVersion, r.meta.Continue
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
		if err := r.decoder.accept(obj, true); err != nil {
			return err
		}
	}
	r.page.Items = append(r.page.Items, obj)
	return nil
}

// field skips the head of a protobuf field, and returns its number, the length of the content after the head, and the
// length of the head. A group consists only of a head. Fields with numbers up to known must have a length. At the end
// of the data, field returns io.EOF.
func (s *source) field(known int) (number int, length int64, head int, err error) {
	for more := s.fill; ; more = s.double {
		number, length, head, err = fieldHead(s.unused(), known)
		switch {
		case err == nil:
			s.start += head
			return number, length, head, nil
		case !errors.Is(err, errShort), s.err == io.EOF && s.end > s.start:
			return 0, 0, 0, &Error{err}
		case s.end-s.start >= MaxObject:
			return 0, 0, 0, &Error{errTooLong}
		}
		if err := more(); err != nil && (err != io.EOF || s.end == s.start) {
			return 0, 0, 0, err
		}
	}
}

// Wire types of protobuf fields, which are the low bits of their tags.
const (
	wireVarint   = 0
	wireFixed64  = 1
	wireBytes    = 2
	wireGroup    = 3 // up to the end tag of the group
	wireGroupEnd = 4
	wireFixed32  = 5
)

// fieldHead returns the number of the field at the beginning of data, the length of the content after its head, and the
// length of the head. A group consists only of a head. Fields with numbers up to known must have a length. If data ends
// within the head, fieldHead fails with errShort.
func fieldHead(data []byte, known int) (number int, length int64, n int, err error) {
	tag, n := binary.Uvarint(data)
	if err := uvarintError(n); err != nil {
		return 0, 0, 0, err
	}
	if tag>>3 == 0 || tag>>3 >= 1<<29 || tag>>3 <= uint64(known) && tag&7 != wireBytes {
		return 0, 0, 0, errProto
	}
	length, m, err := fieldLength(tag&7, data[n:])
	return int(tag >> 3), length, n + m, err
}

// fieldLength returns the length of a field's content in data, after the tag, and the number of bytes before it.
func fieldLength(wireType uint64, data []byte) (length int64, n int, err error) {
	switch wireType {
	case wireVarint:
		_, n := binary.Uvarint(data)
		return 0, n, uvarintError(n)
	case wireFixed64:
		return 8, 0, nil
	case wireFixed32:
		return 4, 0, nil
	case wireBytes:
		length, n := binary.Uvarint(data)
		if length > math.MaxInt32*1024 {
			return 0, 0, errProto
		}
		return int64(length), n, uvarintError(n)
	case wireGroup:
		n, err := groupLength(data)
		return 0, n, err
	}
	return 0, 0, errProto
}

// groupLength returns the length of a group's content in data, which begins after the group's tag. The length includes
// the end tag. Like apimachinery, it allows groups to be nested to any depth and ignores their numbers.
func groupLength(data []byte) (n int, err error) {
	for depth := 1; depth > 0; {
		tag, m := binary.Uvarint(data[n:])
		if err := uvarintError(m); err != nil {
			return 0, err
		}
		n += m
		switch tag & 7 {
		case wireGroup:
			depth++
			continue
		case wireGroupEnd:
			depth--
			continue
		}
		length, m, err := fieldLength(tag&7, data[n:])
		switch {
		case err != nil:
			return 0, err
		case length > int64(len(data)-n-m):
			return 0, errShort
		}
		n += m + int(length)
	}
	return n, nil
}

// uvarintError returns the error for n, the second result of binary.Uvarint.
func uvarintError(n int) error {
	switch {
	case n == 0:
		return errShort
	case n < 0:
		return errProto
	}
	return nil
}

var (
	errProto  = errors.New("malformed protobuf")
	errPrefix = fmt.Errorf("%w: it does not begin as the API's does", errProto)
	// protoPrefix begins the server's protobuf data.
	protoPrefix = []byte("k8s\x00")
)

// protoMessage is implemented by API types with a protobuf form.
type protoMessage interface {
	Reset()
	Size() int
	Unmarshal([]byte) error
}

// hasProtobuf reports whether a type can be decoded from protobuf: recursive types cannot, as nothing limits the depth.
func hasProtobuf(form reflect.Type) bool {
	return reflect.PointerTo(form).Implements(reflect.TypeFor[protoMessage]()) && !recursive(form, nil)
}

// recursive reports whether a value of type t can contain, at any depth, a value of type t or of a type in above.
func recursive(t reflect.Type, above []reflect.Type) bool {
	if slices.Contains(above, t) {
		return true
	}
	if t.Name() != "" {
		above = append(above, t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		return recursive(t.Elem(), above)
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).Tag.Get("protobuf") != "" && recursive(t.Field(i).Type, above) {
				return true
			}
		}
	}
	return false
}

type protoField struct {
	number int
	value  []byte // of a field with a length; otherwise nil
	raw    []byte // the complete field
}

// nextField splits data after its first field. Fields with numbers up to known must have a length.
func nextField(data []byte, known int) (f protoField, rest []byte, err error) {
	number, length, n, err := fieldHead(data, known)
	if err != nil || length > int64(len(data)-n) {
		return f, nil, errProto
	}
	end := n + int(length)
	f.number = number
	if data[0]&7 == wireBytes {
		f.value = data[n:end]
	}
	f.raw = data[:end]
	return f, data[end:], nil
}

// protoMask is a [mask] by field numbers.
type protoMask struct {
	only   bool
	fields map[int]*protoMask // masks of fields; nil means all
	drop   map[int]bool
}

// newProtoMask returns m for messages of type t, or nil if m keeps all.
func newProtoMask(m *mask, t reflect.Type) *protoMask {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if m == nil || t.Kind() != reflect.Struct {
		return nil
	}
	p := &protoMask{only: m.only, fields: make(map[int]*protoMask), drop: make(map[int]bool)}
	for i := range t.NumField() {
		sf := t.Field(i)
		number, ok := fieldNumber(sf.Tag.Get("protobuf"))
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		child, kept := m.member(name)
		if name == "" { // in JSON, its members are members of t
			child, kept = m, true
		}
		switch below := newProtoMask(child, sf.Type); {
		case !kept:
			p.drop[number] = true
		case below != nil || m.only:
			p.fields[number] = below
		}
	}
	return p
}

// fieldNumber returns the number in a tag such as "bytes,1,opt,name=metadata".
func fieldNumber(tag string) (int, bool) {
	parts := strings.Split(tag, ",")
	if len(parts) < 2 {
		return 0, false
	}
	number, err := strconv.Atoi(parts[1])
	return number, err == nil
}

// appendMasked appends the fields of the message data that p keeps to b.
func (p *protoMask) appendMasked(b, data []byte) ([]byte, error) {
	if p == nil {
		return append(b, data...), nil
	}
	for len(data) > 0 {
		f, rest, err := nextField(data, 0)
		if err != nil {
			return nil, err
		}
		data = rest
		child, known := p.fields[f.number]
		switch {
		case p.drop[f.number], p.only && !known:
		case child == nil:
			b = append(b, f.raw...)
		case f.value == nil:
			return nil, fmt.Errorf("%w: field %d is not a message", errProto, f.number)
		default:
			if b, err = child.appendField(b, f); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// appendField appends the fields of the message in f that p keeps.
func (p *protoMask) appendField(b []byte, f protoField) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(f.number)<<3|2)
	const reserved = 4 // bytes for the length, which is known only later
	length := len(b)
	b = append(b, make([]byte, reserved)...)
	b, err := p.appendMasked(b, f.value)
	if err != nil {
		return nil, err
	}
	size := len(b) - length - reserved
	if size >= 1<<28 {
		return nil, errTooLong
	}
	for i := range reserved {
		b[length+i] = byte(size>>(7*i))&0x7f | 0x80
	}
	b[length+reserved-1] &= 0x7f
	return b, nil
}

// protoIdentity returns the identity in the message of an object. It reports false if the identity is unclear.
func protoIdentity(data []byte) (id Identity, ok bool) {
	for len(data) > 0 {
		f, rest, err := nextField(data, 0)
		if err != nil || f.number == 1 && ok {
			return id, false
		}
		data = rest
		if f.number != 1 {
			continue
		}
		ok = true
		for meta := f.value; len(meta) > 0; {
			m, rest, err := nextField(meta, 0)
			if err != nil {
				return id, false
			}
			meta = rest
			switch m.number {
			case 1:
				id.Name = m.value
			case 3:
				id.Namespace = m.value
			case 5:
				id.UID = m.value
			case 6:
				id.ResourceVersion = m.value
			}
		}
	}
	return id, ok && len(id.Name) > 0 && len(id.UID) > 0 && len(id.ResourceVersion) > 0
}
