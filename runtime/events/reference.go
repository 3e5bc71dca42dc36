package events

import (
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// ReferenceTo returns a reference to o in its present state. scheme tells the kind of a typed object; when it does not,
// what the object says itself counts.
func ReferenceTo(o object.Object, scheme *runtime.Scheme) (Reference, error) {
	if isNil(o) {
		return Reference{}, errors.New("there is no object")
	}
	gvk, err := object.GVK(o, scheme)
	if err != nil {
		if gvk = o.GetObjectKind().GroupVersionKind(); gvk.Kind == "" || gvk.Version == "" {
			return Reference{}, fmt.Errorf("kind of the object: %w", err)
		}
	}
	return Reference{
		APIVersion:      gvk.GroupVersion().String(),
		Kind:            gvk.Kind,
		Namespace:       o.GetNamespace(),
		Name:            o.GetName(),
		UID:             o.GetUID(),
		ResourceVersion: o.GetResourceVersion(),
	}, nil
}

// isNil reports whether o is nil, or a nil pointer.
func isNil(o object.Object) bool {
	if o == nil {
		return true
	}
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// namespaceOf returns the namespace in which events about an object are.
func namespaceOf(regarding Reference) string {
	if regarding.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return regarding.Namespace
}

// nameOf returns the name of an event about an object: that of the object and a stamp, or random letters when the name
// of the object is none that an event could have.
func nameOf(regarding Reference, stamp time.Duration) string {
	name := fmt.Sprintf("%s.%x", regarding.Name, int64(stamp))
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return strings.ToLower(rand.Text())
	}
	return name
}
