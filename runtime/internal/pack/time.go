package pack

import (
	"reflect"
	"time"
)

// First byte of a packed time. It specifies the location, and whether the time has a fraction of a second.
const (
	noTime    = iota
	localTime // the result of decoders
	utcTime
	otherTime // its text follows

	fractional = 4
)

// timeEpoch is the origin of seconds, chosen so that most times need four bytes.
const timeEpoch = 1_700_000_000

func packTime(w *writer, v reflect.Value) {
	t := valueOf[time.Time](v)
	location := byte(localTime)
	switch {
	case t == time.Time{}:
		w.byte(noTime)
		return
	case t.Location() == time.Local:
	case t.Location() == time.UTC:
		location = utcTime
	default:
		data, err := t.MarshalBinary()
		if err != nil {
			w.fail(err)
		}
		w.byte(otherTime)
		w.bytes(data)
		return
	}
	nanoseconds := t.Nanosecond()
	if nanoseconds != 0 {
		location |= fractional
	}
	w.byte(location)
	w.int(t.Unix() - timeEpoch)
	if nanoseconds != 0 {
		w.uint(uint64(nanoseconds))
	}
}

// valueOf returns the T in v without an allocation, unless v is an element of a map.
func valueOf[T any](v reflect.Value) T {
	if v.CanAddr() {
		return *v.Addr().Interface().(*T)
	}
	return v.Interface().(T)
}

func unpackTime(r *reader, v reflect.Value) {
	kind := r.byte()
	if kind == noTime {
		return
	}
	var t time.Time
	if kind == otherTime {
		if err := t.UnmarshalBinary(r.bytes()); err != nil {
			r.stop(err)
			return
		}
		*v.Addr().Interface().(*time.Time) = t
		return
	}
	seconds, nanoseconds := r.int(), uint64(0)
	if kind&fractional != 0 {
		nanoseconds = r.uint()
	}
	t = time.Unix(seconds+timeEpoch, int64(nanoseconds%1e9))
	switch kind &^ fractional {
	case localTime:
	case utcTime:
		t = t.UTC()
	default:
		r.fail("no time begins with %d", kind)
		return
	}
	*v.Addr().Interface().(*time.Time) = t
}
