package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// encode returns the JSON of obj with gvk as its apiVersion and kind, which typed objects usually do not have set. It
// leaves obj alone.
func encode(obj runtime.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return json.Marshal(obj)
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		return json.Marshal(obj)
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem())
	shallow.Elem().Set(reflect.ValueOf(obj).Elem())
	named := shallow.Interface().(runtime.Object)
	named.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(named)
}

// errBareStatus is returned for an answer that is a Status where an object was asked for.
var errBareStatus = errors.New("the server sent a bare Status")

// decode sets obj to the object of kind gvk that data is, with nothing left of what obj was. When data is another thing
// obj stays as it is, and the error is errBareStatus if data is a Status.
func decode(data []byte, obj runtime.Object, gvk schema.GroupVersionKind) error {
	fresh := reflect.New(reflect.TypeOf(obj).Elem())
	decoded := fresh.Interface().(runtime.Object)
	if err := unmarshal(data, decoded); err != nil {
		return err
	}
	if err := settleKind(decoded, gvk); err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(fresh.Elem())
	return nil
}

// decodeList sets list to the list of objects of kind item that data is, as decode does. The kind of the list is not
// compared, because a CRD may call it anything.
func decodeList(data []byte, list runtime.Object, gvk, item schema.GroupVersionKind) error {
	fresh := reflect.New(reflect.TypeOf(list).Elem())
	decoded := fresh.Interface().(runtime.Object)
	if err := unmarshal(data, decoded); err != nil {
		return err
	}
	switch decoded := decoded.(type) {
	case runtime.Unstructured:
	case *metav1.PartialObjectMetadataList:
		decoded.SetGroupVersionKind(gvk)
		for i := range decoded.Items {
			decoded.Items[i].SetGroupVersionKind(item)
		}
	default:
		decoded.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if err := meta.EachListItem(decoded, func(o runtime.Object) error { return settleKind(o, item) }); err != nil {
			return err
		}
	}
	reflect.ValueOf(list).Elem().Set(fresh.Elem())
	return nil
}

// unmarshal decodes data into decoded, which is empty. It refuses what says no kind, and a Status.
func unmarshal(data []byte, decoded runtime.Object) error {
	err := utiljson.Unmarshal(data, decoded)
	switch got := decoded.GetObjectKind().GroupVersionKind(); {
	case err != nil:
		if status, _ := parseStatus(data); status != nil {
			return errBareStatus
		}
		return err
	case got.Kind == "Status" && got.Group == "" && got.Version == "v1":
		return errBareStatus
	case got.Kind == "":
		return errors.New("the server sent something that says no kind")
	}
	return nil
}

// settleKind checks the kind that a decoded object says it is, and makes its TypeMeta what callers get: empty for typed
// objects, gvk for metadata-only ones, as sent for unstructured ones.
func settleKind(decoded runtime.Object, gvk schema.GroupVersionKind) error {
	kind := decoded.GetObjectKind()
	got := kind.GroupVersionKind()
	if isMetadata(decoded) {
		kind.SetGroupVersionKind(gvk)
		return nil
	}
	if !got.Empty() && got != gvk {
		return fmt.Errorf("the server sent %s, not %s", got, gvk)
	}
	if _, ok := decoded.(runtime.Unstructured); !ok {
		kind.SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return nil
}
