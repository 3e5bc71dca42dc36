// Package must panics if an error occurs that only a bug in this module could cause.
package must

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Do panics if err is not nil.
func Do(err error) {
	if err != nil {
		panic(err)
	}
}

// Access returns the metadata of an object. Every object of a server has metadata.
func Access(object runtime.Object) metav1.Object {
	accessor, err := meta.Accessor(object)
	Do(err)
	return accessor
}
