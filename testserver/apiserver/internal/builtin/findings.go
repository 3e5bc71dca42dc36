package builtin

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Findings collects the validation errors of an object in the API server's wording.
type Findings struct{ List field.ErrorList }

// Add adds errors.
func (f *Findings) Add(found ...*field.Error) { f.List = append(f.List, found...) }

// Required adds an error for a missing value.
func (f *Findings) Required(path *field.Path, detail string) { f.Add(field.Required(path, detail)) }

// invalid adds an error for each message.
func (f *Findings) invalid(path *field.Path, value any, messages ...string) {
	for _, message := range messages {
		f.Add(field.Invalid(path, value, message))
	}
}

func sortedMap[K cmp.Ordered, V any](values map[K]V) []K { return slices.Sorted(maps.Keys(values)) }

// Deref returns the target of a pointer, or the zero value for nil.
func Deref[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

// Set sets *value to usual if it is zero.
func Set[T comparable](value *T, usual T) {
	if *value == *new(T) {
		*value = usual
	}
}

// SetPointer sets *value to a pointer to usual if it is nil.
func SetPointer[T any](value **T, usual T) {
	if *value == nil {
		*value = &usual
	}
}
