package conversion

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// keptAnnotation has what a version has no field for.
const keptAnnotation = "conversion.kctrl.dev/kept"

// maxKept is how long it may be: the API server bounds all annotations of an object to 256 KiB.
const maxKept = 200 << 10

// Keep keeps value, of which a version has no field, in an annotation of spoke, as JSON. It is for the function that makes a spoke of a
// hub, which calls it once, with a struct of its own if there is more than one value. What says nothing is not kept: the zero value of a
// type, and what is encoded as null, {} or []. What a pointer leads to was set by somebody, and is kept whatever it is, such as a false.
func Keep(spoke object.Object, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("keep what the version cannot say: %w", err)
	}
	if len(text) > maxKept {
		return fmt.Errorf("what the version cannot say has %d bytes, more than the %d that an annotation can keep", len(text), maxKept)
	}
	annotations := spoke.GetAnnotations()
	if saysNothing(value, string(text)) {
		delete(annotations, keptAnnotation)
		return nil
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[keptAnnotation] = string(text)
	spoke.SetAnnotations(annotations)
	return nil
}

// saysNothing reports whether a value, which is encoded as text, is what [Restore] leaves anyway.
func saysNothing(value any, text string) bool {
	if text == "null" {
		return true
	}
	v := reflect.ValueOf(value)
	return v.Kind() != reflect.Pointer && (v.IsZero() || text == "{}" || text == "[]")
}

// Restore sets the value that into points to, to what was kept when spoke was made of a hub. It leaves it as it is when nothing was
// kept, as of objects that were created in the version of the spoke.
func Restore(spoke object.Object, into any) error {
	text, ok := spoke.GetAnnotations()[keptAnnotation]
	if !ok {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("annotation %s: %w", keptAnnotation, err)
	}
	return nil
}
