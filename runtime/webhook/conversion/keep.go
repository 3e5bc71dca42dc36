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

// Keep stores value, for which a version has no field, as JSON in an annotation of spoke. The function that converts a
// hub to a spoke calls it once; to keep several values, pass a struct. Keep does not store zero values, and values
// whose JSON is null, {} or []. It stores the target of a pointer even if that is zero, such as false.
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

// isEmptyOrNull reports whether value, whose encoding is text, equals what [Restore] leaves, and need not be stored.
func isEmptyOrNull(value any, text string) bool {
	if text == "null" {
		return true
	}
	v := reflect.ValueOf(value)
	return v.Kind() != reflect.Pointer && (v.IsZero() || text == "{}" || text == "[]")
}

// Restore sets the value that into points to, to the value that [Keep] stored in spoke. If spoke has no stored value,
// as for objects that were created in the spoke's version, Restore does not change the value.
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
