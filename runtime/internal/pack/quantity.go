package pack

import (
	"fmt"
	"math/big"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// What a quantity begins with.
const (
	textQuantity    = iota + 1 // what it was parsed from
	scaledQuantity             // a number of 64 bits and its scale
	decimalQuantity            // a larger number and its scale

	// hasText marks a quantity that keeps its text besides.
	hasText = 4

	// largestScale is the largest power of ten with which numbers are calculated: the time for that grows with it.
	largestScale = 1000
)

// packQuantity packs a quantity so that it becomes the same again, and not only an equal one: whether it was parsed, and
// from what, shows in its fields.
func packQuantity(w *writer, v reflect.Value) {
	q := v.Interface().(resource.Quantity)
	cached := byte(0)
	if text := v.FieldByName("s").String(); text != "" {
		if parsed, err := parseQuantity(text); err == nil && sameFields(reflect.ValueOf(parsed), v) {
			w.byte(textQuantity)
			w.text(text)
			return
		}
		cached = hasText
	}
	if isScaled(v) {
		value, scale := scaledOf(v)
		if isLarge(scale) {
			cached = 0
		}
		w.byte(scaledQuantity | cached)
		w.text(string(q.Format))
		w.int(value)
		w.int(scale)
		return
	}
	exact := q.AsDec()
	if isLarge(int64(exact.Scale())) {
		w.fail(errScale)
		return
	}
	data, err := exact.UnscaledBig().GobEncode()
	if err != nil {
		w.fail(err)
	}
	w.byte(decimalQuantity | cached)
	w.text(string(q.Format))
	w.length(len(data), false)
	w.buf = append(w.buf, data...)
	w.int(int64(exact.Scale()))
}

var errScale = fmt.Errorf("a quantity has a scale of more than %d", largestScale)

func isLarge(scale int64) bool { return scale > largestScale || scale < -largestScale }

// parseQuantity is resource.ParseQuantity for texts of which parsing does not take long.
func parseQuantity(text string) (resource.Quantity, error) {
	if at := strings.LastIndexAny(text, "eE"); at >= 0 && len(text)-at > len("e-999") {
		return resource.Quantity{}, errScale
	}
	return resource.ParseQuantity(text)
}

// sameFields reports whether a, which was parsed, is what b is but for the text.
func sameFields(a, b reflect.Value) bool {
	if !isScaled(a) || !isScaled(b) || a.FieldByName("Format").String() != b.FieldByName("Format").String() {
		return false
	}
	value, scale := scaledOf(a)
	otherValue, otherScale := scaledOf(b)
	return value == otherValue && scale == otherScale
}

// isScaled reports whether a quantity is a number of 64 bits.
func isScaled(v reflect.Value) bool { return v.FieldByName("d").FieldByName("Dec").IsNil() }

func scaledOf(v reflect.Value) (value, scale int64) {
	amount := v.FieldByName("i")
	return amount.FieldByName("value").Int(), amount.FieldByName("scale").Int()
}

func unpackQuantity(r *reader, v reflect.Value) {
	into := v.Addr().Interface().(*resource.Quantity)
	kind := r.byte()
	text := r.text()
	switch kind &^ hasText {
	case textQuantity:
		parsed, err := parseQuantity(text)
		if err != nil {
			r.stop(err)
			return
		}
		*into = parsed
		kind |= hasText
	case scaledQuantity:
		value, scale := r.int(), r.int()
		*into = *resource.NewScaledQuantity(value, resource.Scale(scale))
		into.Format = resource.Format(text)
		if isLarge(scale) && kind&hasText != 0 {
			r.stop(errScale)
		}
	case decimalQuantity:
		unpackDecimal(r, into)
		into.Format = resource.Format(text)
	default:
		r.fail("no quantity begins with %d", kind)
	}
	if kind&hasText != 0 && r.err == nil {
		_ = into.String() // which keeps it
	}
}

func unpackDecimal(r *reader, into *resource.Quantity) {
	count, _ := r.length()
	var unscaled big.Int
	if err := unscaled.GobDecode([]byte(r.take(uint64(count)))); err != nil {
		r.stop(err)
		return
	}
	scale := r.int()
	if isLarge(scale) {
		r.stop(errScale)
		return
	}
	exact := into.AsDec()
	exact.SetUnscaledBig(&unscaled)
	setScale(exact.SetScale, scale)
}

// setScale sets a scale, whose type is of a package that is not a dependency of its own.
func setScale[S ~int32, D any](set func(S) D, scale int64) { set(S(scale)) }
