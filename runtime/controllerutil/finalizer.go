package controllerutil

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AddFinalizer adds a finalizer to o, which delays the deletion of o until it is removed. It reports whether it changed
// o.
func AddFinalizer(o metav1.Object, finalizer string) bool {
	if ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	return true
}

// RemoveFinalizer removes a finalizer from o. It reports whether o was changed.
func RemoveFinalizer(o metav1.Object, finalizer string) bool {
	if !ContainsFinalizer(o, finalizer) {
		return false
	}
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
	return true
}

// ContainsFinalizer reports whether o has the finalizer.
func ContainsFinalizer(o metav1.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}
