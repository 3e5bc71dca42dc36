package pack

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	stringMapType   = reflect.TypeFor[map[string]string]()
	metaType        = reflect.TypeFor[metav1.ObjectMeta]()
)

// maxPrealloc is for how many elements there is room before the first of them was read.
const maxPrealloc = 64

// codec is how the values of one type are packed. Each value takes at least one byte.
type codec struct {
	pack func(w *writer, v reflect.Value)
	// unpack sets v, which is addressable and zero.
	unpack func(r *reader, v reflect.Value)
}

// compiler makes the codecs of a type and of the types within it.
type compiler struct {
	codecs map[reflect.Type]*codec
}

// newCodec returns the codec of t, which is that of an object. With identified, its metadata are packed without what the
// identity has.
func newCodec(t reflect.Type, identified bool) (*codec, error) {
	c := compiler{make(map[reflect.Type]*codec)}
	if !identified {
		return c.codec(t, t.Name())
	}
	var fields []packedField
	for i := range t.NumField() {
		f, err := c.field(t, i, t.Name())
		if f.codec != nil && t.Field(i).Type == metaType {
			f.codec, err = c.metadata()
		}
		if err != nil {
			return nil, err
		}
		if f.codec != nil {
			fields = append(fields, f)
		}
	}
	return structOf(fields), nil
}

// metadata returns the codec of metadata without what the identity has.
func (c compiler) metadata() (*codec, error) {
	var fields []packedField
	for i := range metaType.NumField() {
		switch metaType.Field(i).Name {
		case "UID", "ResourceVersion", "Namespace", "Name":
			continue
		}
		f, err := c.field(metaType, i, "metadata")
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return structOf(fields), nil
}

// codec returns the codec of t, which is at path.
func (c compiler) codec(t reflect.Type, path string) (*codec, error) {
	if known, ok := c.codecs[t]; ok {
		return known, nil
	}
	made := &codec{} // before those of what t consists of, which may be t again
	c.codecs[t] = made
	compiled, err := c.compile(t, path)
	if err != nil {
		return nil, err
	}
	*made = *compiled
	return made, nil
}

func (c compiler) compile(t reflect.Type, path string) (*codec, error) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &codec{pack: packTime, unpack: unpackTime}, nil
	case reflect.TypeFor[resource.Quantity]():
		return &codec{pack: packQuantity, unpack: unpackQuantity}, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.structure(t, path)
	case reflect.Pointer:
		return c.pointer(t, path)
	case reflect.Slice:
		return c.slice(t, path)
	case reflect.Array:
		return c.array(t, path)
	case reflect.Map:
		return c.mapping(t, path)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return &codec{pack: packInterface, unpack: unpackInterface}, nil
		}
		return &codec{pack: packNil, unpack: unpackNil}, nil
	}
	if scalar := scalarCodec(t.Kind()); scalar != nil {
		return scalar, nil
	}
	return nil, fmt.Errorf("%s: a %s cannot be packed", path, t)
}

// structure returns the codec of a struct: field by field, or by its JSON if it has fields that nobody else can read.
func (c compiler) structure(t reflect.Type, path string) (*codec, error) {
	var fields []packedField
	for i := range t.NumField() {
		if sf := t.Field(i); !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct) {
			if pointer := reflect.PointerTo(t); pointer.Implements(marshalerType) && pointer.Implements(unmarshalerType) {
				return &codec{pack: packJSON, unpack: unpackJSON}, nil
			}
			return nil, fmt.Errorf("%s.%s: an unexported field cannot be packed", path, sf.Name)
		}
		f, err := c.field(t, i, path)
		if err != nil {
			return nil, err
		}
		if f.codec != nil {
			fields = append(fields, f)
		}
	}
	return structOf(fields), nil
}

// field returns how field i of t is packed. It has no codec if it is left out, because no decoder sets it.
func (c compiler) field(t reflect.Type, i int, path string) (packedField, error) {
	sf := t.Field(i)
	if kind := sf.Type.Kind(); sf.Tag.Get("json") == "-" && (kind == reflect.Chan || kind == reflect.Func) {
		return packedField{}, nil
	}
	made, err := c.codec(sf.Type, path+"."+sf.Name)
	return packedField{index: i, codec: made}, err
}

func (c compiler) pointer(t reflect.Type, path string) (*codec, error) {
	elem, err := c.codec(t.Elem(), path)
	if err != nil {
		return nil, err
	}
	return &codec{
		pack: func(w *writer, v reflect.Value) {
			if v.IsNil() {
				w.byte(0)
				return
			}
			w.byte(1)
			elem.pack(w, v.Elem())
		},
		unpack: func(r *reader, v reflect.Value) {
			if r.byte() == 0 || !r.enter() {
				return
			}
			defer r.leave()
			v.Set(reflect.New(t.Elem()))
			elem.unpack(r, v.Elem())
		},
	}, nil
}

func (c compiler) slice(t reflect.Type, path string) (*codec, error) {
	if t.Elem().Kind() == reflect.Uint8 {
		return &codec{pack: packBytes, unpack: unpackBytes}, nil
	}
	elem, err := c.codec(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	return &codec{
		pack: func(w *writer, v reflect.Value) {
			w.length(v.Len(), v.IsNil())
			for i := range v.Len() {
				elem.pack(w, v.Index(i))
			}
		},
		unpack: func(r *reader, v reflect.Value) {
			count, ok := r.length()
			if !ok || !r.enter() {
				return
			}
			defer r.leave()
			v.Set(reflect.MakeSlice(t, 0, min(count, maxPrealloc)))
			for i := 0; i < count && r.err == nil; i++ {
				if i == v.Cap() {
					v.Grow(1)
				}
				v.SetLen(i + 1)
				elem.unpack(r, v.Index(i))
			}
		},
	}, nil
}

func (c compiler) array(t reflect.Type, path string) (*codec, error) {
	elem, err := c.codec(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	each := func(visit func(i int)) {
		for i := range t.Len() {
			visit(i)
		}
	}
	return &codec{
		pack: func(w *writer, v reflect.Value) {
			w.byte(0)
			each(func(i int) { elem.pack(w, v.Index(i)) })
		},
		unpack: func(r *reader, v reflect.Value) {
			r.byte()
			each(func(i int) { elem.unpack(r, v.Index(i)) })
		},
	}, nil
}
