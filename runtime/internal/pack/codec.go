package pack

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
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

// maxPrealloc is the maximum number of elements that are allocated before the first one was read.
const maxPrealloc = 64

// codec packs and unpacks the values of one type. Each value takes at least one byte.
type codec struct {
	pack func(w *writer, v reflect.Value)
	// unpack sets v, which is addressable and zero.
	unpack func(r *reader, v reflect.Value)
}

// compiler creates the codecs of a type and of the types within it.
type compiler struct {
	codecs map[reflect.Type]*codec
}

// newCodec returns the codec of t, the type of an object. If identified is set, it omits the identity in metadata.
func newCodec(t reflect.Type, identified bool) (*codec, error) {
	c := compiler{make(map[reflect.Type]*codec)}
	if !identified {
		return c.codec(t, t.Name())
	}
	fields, err := c.fields(t, t.Name())
	if err != nil {
		return nil, err
	}
	metadata, err := c.fields(metaType, "metadata", "UID", "ResourceVersion", "Namespace", "Name", "Labels")
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		if t.Field(f.index).Type == metaType {
			fields[i].codec = structOf(metadata)
		}
	}
	return structOf(fields), nil
}

// codec returns the codec of t, which is at path.
func (c compiler) codec(t reflect.Type, path string) (*codec, error) {
	if known, ok := c.codecs[t]; ok {
		return known, nil
	}
	made := &codec{} // stored before compiling the parts of t, which may include t
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
	case reflect.String:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.text(v.String()) },
			unpack: func(r *reader, v reflect.Value) { v.SetString(r.text()) },
		}, nil
	case reflect.Bool:
		return &codec{pack: packBool, unpack: func(r *reader, v reflect.Value) { v.SetBool(r.byte() != 0) }}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.int(v.Int()) },
			unpack: func(r *reader, v reflect.Value) { v.SetInt(r.int()) },
		}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.uint(v.Uint()) },
			unpack: func(r *reader, v reflect.Value) { v.SetUint(r.uint()) },
		}, nil
	case reflect.Float32, reflect.Float64:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.uint(math.Float64bits(v.Float())) },
			unpack: func(r *reader, v reflect.Value) { v.SetFloat(math.Float64frombits(r.uint())) },
		}, nil
	}
	return nil, fmt.Errorf("%s: a %s cannot be packed", path, t)
}

// structure returns the codec of a struct. The struct is packed field by field, or as JSON if it has unexported fields.
func (c compiler) structure(t reflect.Type, path string) (*codec, error) {
	for i := range t.NumField() {
		if sf := t.Field(i); !sf.IsExported() && !(sf.Anonymous && sf.Type.Kind() == reflect.Struct) {
			if pointer := reflect.PointerTo(t); pointer.Implements(marshalerType) && pointer.Implements(unmarshalerType) {
				return &codec{pack: packJSON, unpack: unpackJSON}, nil
			}
			return nil, fmt.Errorf("%s.%s: an unexported field cannot be packed", path, sf.Name)
		}
	}
	fields, err := c.fields(t, path)
	return structOf(fields), err
}

// fields returns the fields of t with their codecs, except omitted fields and fields that no decoder sets.
func (c compiler) fields(t reflect.Type, path string, omitted ...string) ([]packedField, error) {
	var fields []packedField
	for i := range t.NumField() {
		sf := t.Field(i)
		kind := sf.Type.Kind()
		unset := sf.Tag.Get("json") == "-" && (kind == reflect.Chan || kind == reflect.Func)
		if unset || slices.Contains(omitted, sf.Name) {
			continue
		}
		made, err := c.codec(sf.Type, path+"."+sf.Name)
		if err != nil {
			return nil, err
		}
		fields = append(fields, packedField{index: i, codec: made})
	}
	return fields, nil
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
			if count == 0 {
				v.Set(reflect.MakeSlice(t, 0, 0)) // non-nil
				return
			}
			// Unlike MakeSlice, Grow allocates only the elements.
			v.Grow(min(count, maxPrealloc))
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
	return &codec{
		pack: func(w *writer, v reflect.Value) {
			w.byte(0)
			for i := range t.Len() {
				elem.pack(w, v.Index(i))
			}
		},
		unpack: func(r *reader, v reflect.Value) {
			r.byte()
			for i := range t.Len() {
				elem.unpack(r, v.Index(i))
			}
		},
	}, nil
}

type packedField struct {
	index int
	codec *codec
}

// fieldsPerMap is the number of fields per presence bitmap, which takes one byte if only the first seven are set.
const fieldsPerMap = 56

// structOf returns the codec of a struct with these fields. For each group of 56 fields, it writes a bitmap of the
// fields that are not zero, followed by these fields.
func structOf(fields []packedField) *codec {
	if len(fields) == 1 { // the struct is packed like its only field
		f := fields[0]
		return &codec{
			pack: func(w *writer, v reflect.Value) { f.codec.pack(w, v.Field(f.index)) },
			unpack: func(r *reader, v reflect.Value) {
				if r.enter() {
					f.codec.unpack(r, v.Field(f.index))
					r.leave()
				}
			},
		}
	}
	return &codec{
		pack: func(w *writer, v reflect.Value) {
			for start := 0; start == 0 || start < len(fields); start += fieldsPerMap {
				packFields(w, v, fields[start:min(start+fieldsPerMap, len(fields))])
			}
		},
		unpack: func(r *reader, v reflect.Value) {
			if !r.enter() {
				return
			}
			defer r.leave()
			for start := 0; start == 0 || start < len(fields); start += fieldsPerMap {
				unpackFields(r, v, fields[start:min(start+fieldsPerMap, len(fields))])
			}
		},
	}
}

func packFields(w *writer, v reflect.Value, fields []packedField) {
	var present uint64
	for i, f := range fields {
		if !v.Field(f.index).IsZero() {
			present |= 1 << i
		}
	}
	w.uint(present)
	for i, f := range fields {
		if present&(1<<i) != 0 {
			f.codec.pack(w, v.Field(f.index))
		}
	}
}

func unpackFields(r *reader, v reflect.Value, fields []packedField) {
	present := r.uint()
	if present>>len(fields) != 0 {
		r.fail("a %s has at most %d fields", v.Type(), len(fields))
		return
	}
	for i, f := range fields {
		if present&(1<<i) != 0 {
			f.codec.unpack(r, v.Field(f.index))
		}
	}
}

// mapping returns the codec of a map. It writes the entries in the order of their keys.
func (c compiler) mapping(t reflect.Type, path string) (*codec, error) {
	if t == stringMapType {
		return &codec{pack: packStringMap, unpack: unpackStringMap}, nil
	}
	compare := comparison(t.Key().Kind())
	if compare == nil {
		return nil, fmt.Errorf("%s: a map by %s cannot be packed", path, t.Key())
	}
	key, err := c.codec(t.Key(), path)
	if err != nil {
		return nil, err
	}
	elem, err := c.codec(t.Elem(), path+"[]")
	if err != nil {
		return nil, err
	}
	return &codec{
		pack: func(w *writer, v reflect.Value) {
			w.length(v.Len(), v.IsNil())
			for _, k := range slices.SortedFunc(slices.Values(v.MapKeys()), compare) {
				key.pack(w, k)
				elem.pack(w, v.MapIndex(k))
			}
		},
		unpack: func(r *reader, v reflect.Value) { unpackMap(r, v, key, elem) },
	}, nil
}

// comparison returns the function that orders the keys of a map, or nil if such keys cannot be packed.
func comparison(key reflect.Kind) func(a, b reflect.Value) int {
	switch key {
	case reflect.String:
		return func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(a, b reflect.Value) int { return cmp.Compare(a.Int(), b.Int()) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(a, b reflect.Value) int { return cmp.Compare(a.Uint(), b.Uint()) }
	}
	return nil
}

func unpackMap(r *reader, v reflect.Value, key, elem *codec) {
	count, ok := r.length()
	if !ok || !r.enter() {
		return
	}
	defer r.leave()
	t := v.Type()
	v.Set(reflect.MakeMapWithSize(t, min(count, maxPrealloc)))
	k, e := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for i := 0; i < count && r.err == nil; i++ {
		k.SetZero()
		e.SetZero()
		key.unpack(r, k)
		elem.unpack(r, e)
		v.SetMapIndex(k, e)
	}
}

func packStringMap(w *writer, v reflect.Value) {
	w.stringMap(v.Interface().(map[string]string), (*writer).text)
}

func unpackStringMap(r *reader, v reflect.Value) {
	*v.Addr().Interface().(*map[string]string) = r.stringMap()
}

func packBool(w *writer, v reflect.Value) {
	if v.Bool() {
		w.byte(1)
		return
	}
	w.byte(0)
}

func packBytes(w *writer, v reflect.Value) { w.bytes(v.Bytes()) }

func unpackBytes(r *reader, v reflect.Value) { v.SetBytes(r.bytes()) }

// packNil packs a value of an interface type, which must be nil, because the type determines no concrete type.
func packNil(w *writer, v reflect.Value) {
	if !v.IsNil() {
		w.fail(fmt.Errorf("a %s is a %s, of which no other can be made", v.Type(), v.Elem().Type()))
	}
	w.byte(0)
}

func unpackNil(r *reader, _ reflect.Value) { r.byte() }

// packJSON packs a value as the JSON that its own method returns.
func packJSON(w *writer, v reflect.Value) {
	if !v.CanAddr() { // an element of a map
		addressable := reflect.New(v.Type()).Elem()
		addressable.Set(v)
		v = addressable
	}
	data, err := v.Addr().Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		w.fail(fmt.Errorf("the JSON of a %s: %w", v.Type(), err))
	}
	w.bytes(data)
}

func unpackJSON(r *reader, v reflect.Value) {
	data := r.bytes()
	if r.err != nil {
		return
	}
	if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(data); err != nil {
		r.fail("the JSON of a %s: %w", v.Type(), err)
	}
}
