package pack

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// packQuantity packs a quantity as its text. One that was parsed from another text, such as 1000m, or that was made, comes
// back as one that was parsed from this.
func packQuantity(w *writer, v reflect.Value) {
	q, ok := resource.Quantity{}, v.CanAddr()
	if ok {
		q = *v.Addr().Interface().(*resource.Quantity)
	} else {
		q = v.Interface().(resource.Quantity) // an element of a map
	}
	text := "" // of none
	if q != (resource.Quantity{}) {
		text = q.String() // which keeps it, in the copy
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
	// fastDigits is up to how many digits a number is parsed without calculating powers of ten.
	fastDigits = 18
	// maxExponent is the longest exponent of a number with more: the time for the power grows with it.
	maxExponent = len("e-999")
)

// checkQuantity returns an error for a text that would take long to be parsed.
func checkQuantity(text string) error {
	if at := strings.LastIndexAny(text, "eE"); at > fastDigits && len(text)-at > maxExponent {
		return fmt.Errorf("a quantity of %d digits has the exponent %s", at, text[at+1:])
	}
	return nil
}
