package pack

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// packQuantity packs a quantity as its canonical text. A quantity that was computed, or parsed from another text such
// as 1000m, is unpacked as if it had been parsed from the canonical text.
func packQuantity(w *writer, v reflect.Value) {
	q := valueOf[resource.Quantity](v)
	text := "" // the text of the zero quantity
	if q != (resource.Quantity{}) {
		text = q.String() // String caches its result in q, which is a copy
	}
	if err := checkQuantity(text); err != nil {
		w.fail(err)
	}
	w.text(text)
}

func unpackQuantity(r *reader, v reflect.Value) {
	text := r.text()
	if text == "" {
		return
	}
	err := checkQuantity(text)
	if err == nil {
		*v.Addr().Interface().(*resource.Quantity), err = resource.ParseQuantity(text)
	}
	if err != nil {
		r.stop(err)
	}
}

const (
	// fastDigits is the number of digits up to which a number is parsed without computing powers of ten.
	fastDigits = 18
	// maxExponent limits the exponent of longer numbers, because the time for computing the power grows with it.
	maxExponent = len("e-999")
)

// checkQuantity returns an error for a text that would take long to parse.
func checkQuantity(text string) error {
	if at := strings.LastIndexAny(text, "eE"); at > fastDigits && len(text)-at > maxExponent {
		return fmt.Errorf("a quantity of %d digits has the exponent %s", at, text[at+1:])
	}
	return nil
}
