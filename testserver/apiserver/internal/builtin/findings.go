package builtin

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Findings collects what is wrong with an object, in the words of the API server.
type Findings struct{ List field.ErrorList }

// Add adds problems.
func (f *Findings) Add(found ...*field.Error) { f.List = append(f.List, found...) }

// Required adds that something is not there.
func (f *Findings) Required(path *field.Path, detail string) { f.Add(field.Required(path, detail)) }

// invalid adds one problem for each message.
func (f *Findings) invalid(path *field.Path, value any, messages ...string) {
	for _, message := range messages {
		f.Add(field.Invalid(path, value, message))
	}
}

func sortedMap[K cmp.Ordered, V any](values map[K]V) []K { return slices.Sorted(maps.Keys(values)) }

// Deref is the value of a pointer, or that of its type.
func Deref[T any](value *T) (v T) {
	if value != nil {
		v = *value
	}
	return v
}

// Set gives a value that is not there a default.
func Set[T comparable](value *T, usual T) {
	if *value == *new(T) {
		*value = usual
	}
}

// SetPointer is Set for what may be absent.
func SetPointer[T any](value **T, usual T) {
	if *value == nil {
		*value = &usual
	}
}
