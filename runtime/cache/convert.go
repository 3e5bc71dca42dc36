package cache

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/informer"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// convert converts an object to another Go type. The result may share parts of the original.
type convert func(object.Object) (object.Object, error)

// converter returns the conversion from the Go type of from to the Go type of to, or nil if the types are equal. It
// reports false if from's type lacks fields of to's type.
func converter(from, to object.Object, gvk schema.GroupVersionKind) (convert, bool) {
	wanted := reflect.TypeOf(to)
	if reflect.TypeOf(from) == wanted {
		return nil, true
	}
	_, isUnstructured := from.(*unstructured.Unstructured)
	_, toUnstructured := to.(runtime.Unstructured)
	_, toMetadata := to.(*metav1.PartialObjectMetadata)
	_, fromMetadata := from.(*metav1.PartialObjectMetadata)
	switch {
	case toMetadata:
		return func(o object.Object) (object.Object, error) { return metadataOf(o, gvk) }, true
	case isUnstructured && !toUnstructured && !fromMetadata && wanted.Kind() == reflect.Pointer:
		return func(o object.Object) (object.Object, error) {
			typed := reflect.New(wanted.Elem()).Interface().(object.Object)
			u := o.(*unstructured.Unstructured)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
				return nil, fmt.Errorf("%s as %s: %w", object.KeyOf(o), wanted.Elem(), err)
			}
			return typed, nil
		}, true
	}
	return nil, false
}

// metadataOf returns the metadata of o.
func metadataOf(o object.Object, gvk schema.GroupVersionKind) (object.Object, error) {
	m := &metav1.PartialObjectMetadata{}
	if u, ok := o.(*unstructured.Unstructured); ok {
		fields, _ := u.Object["metadata"].(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &m.ObjectMeta); err != nil {
			return nil, fmt.Errorf("metadata of %s: %w", object.KeyOf(o), err)
		}
	} else if accessor, ok := o.(metav1.ObjectMetaAccessor); ok {
		if meta, ok := accessor.GetObjectMeta().(*metav1.ObjectMeta); ok {
			m.ObjectMeta = *meta
		}
	}
	m.SetGroupVersionKind(gvk)
	return m, nil
}

// to returns the conversion of stored objects to the Go type of prototype, and whether it exists.
func (k *kind) to(prototype object.Object) (convert, bool) {
	return converter(k.stored.Load().prototype, prototype, k.gvk)
}

// as returns the result of f for o, or o itself if f is nil.
func (f convert) as(o object.Object) (object.Object, error) {
	if f == nil {
		return o, nil
	}
	return f(o)
}

// converting returns a handler that converts objects before it calls h. If the new state in an event cannot be
// converted, the handler logs an error and skips the event. It then adjusts the next event of the object, for example
// to Added.
func (i *Informer) converting(h informer.Handler[object.Object], f convert) informer.Handler[object.Object] {
	return func(e informer.Event[object.Object]) {
		e, err := f.event(e)
		if err != nil {
			i.logger.Error("convert an object", "kind", i.gvk.Kind, "err", err)
			return
		}
		h(e)
	}
}

// event returns e with its objects converted.
func (f convert) event(e informer.Event[object.Object]) (informer.Event[object.Object], error) {
	now, err := f(e.Object)
	if err != nil && e.Type == informer.Deleted {
		// The handler may have received an earlier state. The metadata suffice to report the deletion.
		e.FinalStateUnknown = true
		now, err = f(withoutContent(e.Object))
	}
	if err != nil {
		return e, err
	}
	e.Object = now
	if e.Old == nil {
		return e, nil
	}
	if e.Old, err = f(e.Old); err != nil {
		// The handler did not receive the old state, but must receive the new one.
		e.Type, e.Old, e.Merged = informer.Added, nil, true
	}
	return e, nil
}

// withoutContent returns the kind and metadata of o if o is unstructured, and o otherwise.
func withoutContent(o object.Object) object.Object {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": u.Object["apiVersion"],
		"kind": u.Object["kind"], "metadata": u.Object["metadata"]}}
}
