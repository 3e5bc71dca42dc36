// Package bare makes the objects of events look like objects from client-go's informers.
package bare

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object returns a shallow copy of obj without apiVersion and kind. It returns untyped objects unchanged. It does not
// modify obj, which other handlers may share.
func Object[T runtime.Object](obj T) T {
	switch any(obj).(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return obj
	}
	from := reflect.ValueOf(obj)
	if from.Kind() != reflect.Pointer || from.IsNil() {
		return obj
	}
	to := reflect.New(from.Type().Elem())
	to.Elem().Set(from.Elem())
	bare := to.Interface().(T)
	bare.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	return bare
}
