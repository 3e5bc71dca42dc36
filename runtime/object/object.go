// Package object defines objects, lists and keys for the other packages of the runtime. It does not depend on servers,
// caches or codecs.
package object

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctrl-dev/kctrl/runtime/internal/partial"
)

// Object is an instance of a Kubernetes kind. It has metadata and can be copied and encoded. Pointers to API types such
// as *corev1.Pod are Objects, as are *unstructured.Unstructured and *metav1.PartialObjectMetadata.
type Object interface {
	metav1.Object
	runtime.Object
}

// List is a list of objects, such as *corev1.PodList.
type List interface {
	metav1.ListInterface
	runtime.Object
}

// Key identifies an object within its kind. Its String method returns "namespace/name". The key of a cluster-scoped
// object has an empty Namespace, and its String method returns "/name".
type Key = types.NamespacedName

// KeyOf returns the key of o.
func KeyOf(o metav1.Object) Key {
	return Key{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// GVK returns the group, version and kind of o. Unstructured and metadata-only objects contain them; for other objects,
// GVK looks up the Go type in scheme. It fails if the type is not registered, or is registered as several kinds.
func GVK(o runtime.Object, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	switch o.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		gvk := o.GetObjectKind().GroupVersionKind()
		if gvk.Kind == "" || gvk.Version == "" {
			return gvk, fmt.Errorf("%T has no apiVersion and kind set", o)
		}
		return gvk, nil
	}
	gvks, _, err := scheme.ObjectKinds(o)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	if len(gvks) > 1 {
		return schema.GroupVersionKind{}, fmt.Errorf("%T is registered as several kinds: %v", o, gvks)
	}
	return gvks[0], nil
}

// New returns a new, empty object of the pointer type T, such as New[*corev1.Pod](). It panics if T is not a
// pointer type.
func New[T Object]() T {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("object.New: %s is not a pointer type", t))
	}
	return reflect.New(t.Elem()).Interface().(T)
}

// Mask returns the fields that o has, such as "metadata" and "status.conditions", if o was read with a mask. It returns
// nil if o is complete. Do not write a masked object as a whole object.
func Mask(o metav1.Object) []string { return partial.Of(o) }
