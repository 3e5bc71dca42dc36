package builtin

import (
	"cmp"
	"maps"
	"slices"
)

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
