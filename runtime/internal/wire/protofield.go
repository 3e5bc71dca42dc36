package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

var (
	errProto = errors.New("malformed protobuf")
	// protoPrefix begins what servers send in protobuf, so that it is not taken for anything else.
	protoPrefix = []byte("k8s\x00")
)

// protoMessage is what types of the API do that have a protobuf form.
type protoMessage interface {
	Reset()
	Size() int
	Unmarshal([]byte) error
}

// hasProtobuf reports whether a type can be decoded from protobuf. The decoders of recursive types do not bound how deep
// they go, so these are not.
func hasProtobuf(form reflect.Type) bool {
	return reflect.PointerTo(form).Implements(reflect.TypeFor[protoMessage]()) && !recursive(form, nil)
}

// recursive reports whether a value of type t can hold, at any depth, another one of its type or of one of above.
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

// protoField is one field of a message.
type protoField struct {
	number int
	value  []byte // of a field with a length; nil for other fields
	raw    []byte // all of the field
}

// nextField splits data behind its first field.
func nextField(data []byte) (f protoField, rest []byte, err error) {
	tag, n := binary.Uvarint(data)
	if n <= 0 || tag>>3 == 0 || tag>>3 >= 1<<29 {
		return f, nil, errProto
	}
	f.number = int(tag >> 3)
	end := n
	switch tag & 7 {
	case 0:
		_, m := binary.Uvarint(data[n:])
		if m <= 0 {
			return f, nil, errProto
		}
		end += m
	case 1:
		end += 8
	case 2:
		length, m := binary.Uvarint(data[n:])
		if m <= 0 || length > uint64(len(data)-n-m) {
			return f, nil, errProto
		}
		end += m + int(length)
		f.value = data[n+m : end]
	case 5:
		end += 4
	default:
		return f, nil, errProto
	}
	if end > len(data) {
		return f, nil, errProto
	}
	f.raw = data[:end]
	return f, data[end:], nil
}

// protoMask is a [mask] by the numbers of fields.
type protoMask struct {
	only   bool
	fields map[int]*protoMask // what is decoded of a field; nil is all
	drop   map[int]bool
}

// newProtoMask returns m for messages of type t, or nil if that keeps all.
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
		if name == "" { // its members are those of t in JSON
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

// appendMasked appends what p keeps of the message data to b.
func (p *protoMask) appendMasked(b, data []byte) ([]byte, error) {
	if p == nil {
		return append(b, data...), nil
	}
	for len(data) > 0 {
		f, rest, err := nextField(data)
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
			return nil, fmt.Errorf("%w: field %d is no message", errProto, f.number)
		default:
			if b, err = child.appendField(b, f); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// appendField appends what p keeps of the message that f has.
func (p *protoMask) appendField(b []byte, f protoField) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(f.number)<<3|2)
	const reserved = 4 // bytes of the length, which is only known afterwards
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

// protoIdentity returns what the message of an object identifies, and reports false if that cannot be told.
func protoIdentity(data []byte) (id Identity, ok bool) {
	for len(data) > 0 {
		f, rest, err := nextField(data)
		if err != nil || f.number == 1 && ok {
			return id, false
		}
		data = rest
		if f.number != 1 {
			continue
		}
		ok = true
		for meta := f.value; len(meta) > 0; {
			m, rest, err := nextField(meta)
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
