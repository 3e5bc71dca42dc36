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
	t := timeOf(v)
	location := byte(otherTime)
	switch {
	case t == time.Time{}:
		location = noTime
	case t.Location() == time.Local:
		location = localTime
	case t.Location() == time.UTC:
		location = utcTime
	}
	if location == otherTime {
		data, err := t.MarshalBinary()
		if err != nil {
			w.fail(err)
		}
		w.byte(otherTime)
		w.length(len(data), false)
		w.buf = append(w.buf, data...)
		return
	}
	nanoseconds := t.Nanosecond()
	if nanoseconds != 0 {
		location |= fractional
	}
	w.byte(location)
	if location == noTime {
		return
	}
	w.int(t.Unix() - timeEpoch)
	if nanoseconds != 0 {
		w.uint(uint64(nanoseconds))
	}
}

// timeOf returns the time in v, which may be an element of a map.
func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() && v.Addr().CanInterface() {
		return *v.Addr().Interface().(*time.Time)
	}
	return v.Interface().(time.Time)
}

func unpackTime(r *reader, v reflect.Value) {
	kind := r.byte()
	if kind == noTime {
		return
	}
	var t time.Time
	if kind == otherTime {
		count, _ := r.length()
		if err := t.UnmarshalBinary([]byte(r.take(uint64(count)))); err != nil {
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
