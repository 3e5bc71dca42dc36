package pack

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
)

// mapping returns the codec of a map: its members in the order of their keys.
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

// comparison returns the order of the keys of a map, or nil if they cannot be packed.
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
	m := v.Interface().(map[string]string)
	w.length(len(m), m == nil)
	start := len(w.keys)
	for key := range m {
		w.keys = append(w.keys, key)
	}
	slices.Sort(w.keys[start:])
	for _, key := range w.keys[start:] {
		w.text(key)
		w.text(m[key])
	}
	w.keys = w.keys[:start]
}

func unpackStringMap(r *reader, v reflect.Value) {
	count, ok := r.length()
	if !ok {
		return
	}
	m := make(map[string]string, min(count, maxPrealloc))
	for i := 0; i < count && r.err == nil; i++ {
		key := r.text()
		m[key] = r.text()
	}
	*v.Addr().Interface().(*map[string]string) = m
}
