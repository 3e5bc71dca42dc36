package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Document is an object as JSON, in the bytes that clients receive. It does not contain the resourceVersion, which is
// inserted when the document is read. It is immutable.
type Document struct {
	Data    []byte
	version int // where the resourceVersion is inserted in Data
}

// NewDocument returns the document of an object. The object must have metadata.
func NewDocument(object map[string]any) (Document, error) {
	e := encoder{version: -1}
	metadata, ok := object["metadata"].(map[string]any)
	if ok {
		metadata["resourceVersion"] = ""
	}
	if err := e.object(object, 0); err != nil {
		return Document{}, err
	}
	return Document{slices.Clip(e.data), e.version}, nil
}

// Encode returns an object as JSON.
func Encode(object map[string]any) ([]byte, error) {
	e := encoder{data: make([]byte, 0, 4<<10)}
	err := e.object(object, 2)
	return e.data, err
}

// AppendTo appends the document with the given resourceVersion to data.
func (d Document) AppendTo(data []byte, revision int64) []byte {
	data = append(data, d.Data[:d.version]...)
	data = strconv.AppendInt(data, revision, 10)
	return append(data, d.Data[d.version:]...)
}

// decode returns the object with the given resourceVersion. The caller owns the object.
func (d Document) decode(revision int64) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(d.Data, &u.Object); err != nil {
		return nil, err
	}
	u.SetResourceVersion(strconv.FormatInt(revision, 10))
	return u, nil
}

// encoder writes JSON values as encoding/json does, but without reflection, in a fifth of the time.
type encoder struct {
	data    []byte
	keys    []string // keys of the objects being written, outer objects first
	version int      // position of the object's resourceVersion
}

// object writes an object. At depth 0 it is the object of a kind, whose metadata contains the resourceVersion.
func (e *encoder) object(object map[string]any, depth int) error {
	first := len(e.keys)
	e.keys = slices.AppendSeq(e.keys, maps.Keys(object))
	last := len(e.keys)
	slices.Sort(e.keys[first:])
	e.data = append(e.data, '{')
	for i := first; i < last; i++ {
		if i > first {
			e.data = append(e.data, ',')
		}
		name := e.keys[i]
		e.text(name)
		e.data = append(e.data, ':')
		inner := depth + 2 // objects at this depth have no resourceVersion
		switch {
		case depth == 0 && name == "metadata":
			inner = 1
		case depth == 1 && name == "resourceVersion":
			e.version = len(e.data) + 1
		}
		if err := e.value(object[name], inner); err != nil {
			return err
		}
	}
	e.data = append(e.data, '}')
	e.keys = e.keys[:first]
	return nil
}

func (e *encoder) value(value any, depth int) error {
	switch value := value.(type) {
	case map[string]any:
		if value == nil {
			break
		}
		return e.object(value, depth)
	case []any:
		if value == nil {
			break
		}
		e.data = append(e.data, '[')
		for i, member := range value {
			if i > 0 {
				e.data = append(e.data, ',')
			}
			if err := e.value(member, depth+2); err != nil {
				return err
			}
		}
		e.data = append(e.data, ']')
		return nil
	case string:
		e.text(value)
		return nil
	case int64:
		e.data = strconv.AppendInt(e.data, value, 10)
		return nil
	case bool:
		e.data = strconv.AppendBool(e.data, value)
		return nil
	}
	data, err := json.Marshal(value)
	e.data = append(e.data, data...)
	return err
}

func (e *encoder) text(text string) {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(text) // cannot fail for a string
			e.data = append(e.data, quoted...)
			return
		}
	}
	e.data = append(e.data, '"')
	e.data = append(e.data, text...)
	e.data = append(e.data, '"')
}
