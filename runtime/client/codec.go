package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/internal/wire"
)

// encode returns the JSON of obj with gvk as its apiVersion and kind, which typed objects often lack. It does not
// modify obj.
func encode(obj runtime.Object, gvk schema.GroupVersionKind) ([]byte, error) {
	if _, ok := obj.(runtime.Unstructured); ok || obj.GetObjectKind().GroupVersionKind() == gvk {
		return json.Marshal(obj)
	}
	shallow := reflect.New(reflect.TypeOf(obj).Elem())
	shallow.Elem().Set(reflect.ValueOf(obj).Elem())
	named := shallow.Interface().(runtime.Object)
	named.GetObjectKind().SetGroupVersionKind(gvk)
	return json.Marshal(named)
}

// decode sets obj to the object in data, which must be of kind gvk, and replaces its whole content. On error obj is
// unchanged. If data is a Status, decode returns the error of [wire.StatusError].
func decode(data []byte, obj runtime.Object, gvk schema.GroupVersionKind) error {
	asked := wire.Asked{GVK: gvk, Metadata: isMetadata(obj)}
	return decodeAs(data, obj, func(decoded runtime.Object) error {
		kind := decoded.GetObjectKind()
		if err := asked.Object(kind.GroupVersionKind()); err != nil {
			return err
		}
		kind.SetGroupVersionKind(gvk)
		return nil
	})
}

// decodeList sets list, which is of kind gvk, to the list in data, whose items must match asked. It fails as decode
// does.
func decodeList(data []byte, list runtime.Object, gvk schema.GroupVersionKind, asked wire.Asked) error {
	asked.Metadata = isMetadata(list)
	return decodeAs(data, list, func(decoded runtime.Object) error {
		kind := decoded.GetObjectKind()
		if err := asked.List(kind.GroupVersionKind()); err != nil {
			return err
		}
		kind.SetGroupVersionKind(gvk)
		n := 0
		return meta.EachListItem(decoded, func(item runtime.Object) error {
			kind, name := item.GetObjectKind(), "none"
			if o, ok := item.(metav1.Object); ok {
				name = o.GetName()
			}
			if err := asked.Item(kind.GroupVersionKind(), name); err != nil {
				return fmt.Errorf("item %d: %w", n, err)
			}
			kind.SetGroupVersionKind(asked.GVK)
			n++
			return nil
		})
	})
}

// decodeAs sets obj to the content of data if accept returns no error for it.
func decodeAs(data []byte, obj runtime.Object, accept func(decoded runtime.Object) error) error {
	fresh := reflect.New(reflect.TypeOf(obj).Elem())
	decoded := fresh.Interface().(runtime.Object)
	decoder, err := decoderOf(fresh.Type().Elem())
	if err != nil {
		return err
	}
	err = decoder.Decode(data, fresh.Elem())
	if err != nil || decoded.GetObjectKind().GroupVersionKind() == statusKind {
		err = cmp.Or(statusError(data), err)
	}
	if err != nil {
		return err
	}
	if err := accept(decoded); err != nil {
		return err
	}
	reflect.ValueOf(obj).Elem().Set(fresh.Elem())
	return nil
}

// decoders has a *wire.DocumentDecoder per reflect.Type of an answer. It is global because creating a decoder takes
// longer than decoding.
var decoders sync.Map

// decoderOf returns the decoder of answers to a value of type form.
func decoderOf(form reflect.Type) (*wire.DocumentDecoder, error) {
	if known, ok := decoders.Load(form); ok {
		return known.(*wire.DocumentDecoder), nil
	}
	made, err := wire.NewDocumentDecoder(form, true)
	if err != nil {
		return nil, err
	}
	known, _ := decoders.LoadOrStore(form, made)
	return known.(*wire.DocumentDecoder), nil
}

var statusKind = schema.GroupVersionKind{Version: "v1", Kind: "Status"}

// statusError returns the error of a Status in an answer with a success code, or nil if data is not a Status.
func statusError(data []byte) error {
	status := &metav1.Status{}
	if err := utiljson.Unmarshal(data, status); err != nil || status.GroupVersionKind() != statusKind {
		return nil
	}
	return wire.StatusError(status)
}
