package pack

import "reflect"

// packedField is a field of a struct.
type packedField struct {
	index int
	codec *codec
}

// fieldsPerMap is how many fields one number says the presence of: with the seven first of them it takes one byte.
const fieldsPerMap = 56

// structOf returns the codec of a struct with these fields: for each 56 of them a number whose bits say which are not
// zero, and then those.
func structOf(fields []packedField) *codec {
	if len(fields) == 1 {
		return onlyField(fields[0])
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

// onlyField returns the codec of a struct that is packed as its only field is.
func onlyField(f packedField) *codec {
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
		r.fail("a %s has no more than %d fields", v.Type(), len(fields))
		return
	}
	for i, f := range fields {
		if present&(1<<i) != 0 {
			f.codec.unpack(r, v.Field(f.index))
		}
	}
}
