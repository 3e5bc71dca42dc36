package pack

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
)

// scalarCodec returns the codec of a kind that consists of one thing, or nil if k is none that can be packed.
func scalarCodec(k reflect.Kind) *codec {
	switch k {
	case reflect.String:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.text(v.String()) },
			unpack: func(r *reader, v reflect.Value) { v.SetString(r.text()) },
		}
	case reflect.Bool:
		return &codec{pack: packBool, unpack: func(r *reader, v reflect.Value) { v.SetBool(r.byte() != 0) }}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.int(v.Int()) },
			unpack: func(r *reader, v reflect.Value) { v.SetInt(r.int()) },
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.uint(v.Uint()) },
			unpack: func(r *reader, v reflect.Value) { v.SetUint(r.uint()) },
		}
	case reflect.Float32, reflect.Float64:
		return &codec{
			pack:   func(w *writer, v reflect.Value) { w.uint(math.Float64bits(v.Float())) },
			unpack: func(r *reader, v reflect.Value) { v.SetFloat(math.Float64frombits(r.uint())) },
		}
	}
	return nil
}

func packBool(w *writer, v reflect.Value) {
	if v.Bool() {
		w.byte(1)
		return
	}
	w.byte(0)
}

func packBytes(w *writer, v reflect.Value) {
	w.length(v.Len(), v.IsNil())
	w.buf = append(w.buf, v.Bytes()...)
}

func unpackBytes(r *reader, v reflect.Value) {
	if count, ok := r.length(); ok {
		v.SetBytes([]byte(r.take(uint64(count))))
	}
}

// packNil packs a value of an interface type that says nothing about how to make another: it must be nil.
func packNil(w *writer, v reflect.Value) {
	if !v.IsNil() {
		w.fail(fmt.Errorf("a %s is a %s, of which no other can be made", v.Type(), v.Elem().Type()))
	}
	w.byte(0)
}

func unpackNil(r *reader, _ reflect.Value) { r.byte() }

// packJSON packs a value by its own JSON.
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
	w.length(len(data), false)
	w.buf = append(w.buf, data...)
}

func unpackJSON(r *reader, v reflect.Value) {
	count, _ := r.length()
	data := []byte(r.take(uint64(count)))
	if r.err != nil {
		return
	}
	if err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(data); err != nil {
		r.fail("the JSON of a %s: %w", v.Type(), err)
	}
}
