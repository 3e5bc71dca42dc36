package conversion

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// keptAnnotation has data for which a version has no field.
const keptAnnotation = "conversion.kctrl.dev/kept"

// maxKept is the maximum size of the annotation: the API server limits all annotations of an object to 256 KiB.
const maxKept = 200 << 10

// Keep stores value, for which a version has no field, in an annotation of spoke, as JSON. The function that converts a
// hub to a spoke calls it once; for several values, pass a struct. Empty values are not stored: the zero value of a
// type, and values that are encoded as null, {} or []. The target of a pointer was set explicitly, and is stored even
// if it is zero, such as a false.
func Keep(spoke object.Object, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("keep fields that the version does not have: %w", err)
	}
	if len(text) > maxKept {
		return fmt.Errorf("the fields that the version does not have take %d bytes, more than the %d that an annotation "+
			"can hold", len(text), maxKept)
	}
	annotations := spoke.GetAnnotations()
	if isEmptyOrNull(value, string(text)) {
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

// isEmptyOrNull reports whether a value, whose encoding is text, is the default that [Restore] leaves.
func isEmptyOrNull(value any, text string) bool {
	if text == "null" {
		return true
	}
	v := reflect.ValueOf(value)
	return v.Kind() != reflect.Pointer && (v.IsZero() || text == "{}" || text == "[]")
}

// Restore sets the value to which into points to the value that Keep stored in spoke. It leaves the value unchanged if
// there is none, as for objects that were created in the spoke's version.
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
