// Package configuration converts objects to the body of a server-side apply. The client sends that body, and other
// callers first compare it with the stored object.
package configuration

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Of returns the body of a server-side apply of obj, which consists of the fields that obj sets. For the status
// subresource, it consists only of the name and the status.
func Of(obj object.Object, gvk schema.GroupVersionKind, statusOnly bool) (map[string]any, error) {
	configuration, err := Map(obj)
	if err != nil {
		return nil, err
	}
	if _, ok := obj.(runtime.Unstructured); !ok {
		dropNulls(configuration)
		dropEmptyStructs(reflect.ValueOf(obj), configuration)
	}
	configuration["apiVersion"], configuration["kind"] = gvk.ToAPIVersionAndKind()
	if statusOnly {
		return statusConfiguration(obj, configuration), nil
	}
	metadata, _ := configuration["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	if _, ok := obj.(runtime.Unstructured); !ok {
		delete(configuration, "status")
		delete(metadata, "creationTimestamp")
		delete(metadata, "resourceVersion")
	}
	return configuration, nil
}

// statusConfiguration returns the part of a configuration for the status of obj.
func statusConfiguration(obj metav1.Object, configuration map[string]any) map[string]any {
	metadata := map[string]any{"name": obj.GetName()}
	if obj.GetNamespace() != "" {
		metadata["namespace"] = obj.GetNamespace()
	}
	result := map[string]any{
		"apiVersion": configuration["apiVersion"],
		"kind":       configuration["kind"],
		"metadata":   metadata,
	}
	if status, ok := configuration["status"]; ok {
		result["status"] = status
	}
	return result
}

// dropNulls removes null entries of maps, at any depth. It keeps nulls in lists, where removal would move items.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if v == nil {
				delete(value, name)
			} else {
				dropNulls(v)
			}
		}
	case []any:
		for _, v := range value {
			dropNulls(v)
		}
	}
}

// dropEmptyStructs removes two kinds of values from encoded, the JSON of v: the empty objects of struct fields with the
// tag omitempty, and the zero values of such fields whose type has its own encoding, such as a port or a quantity.
// encoding/json cannot omit structs, so these values are not settings. It keeps an empty object behind a pointer, in a
// list or in a map, because such an object was set explicitly.
func dropEmptyStructs(v reflect.Value, encoded any) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	if EncodesItself(v.Type()) {
		return
	}
	switch encoded := encoded.(type) {
	case map[string]any:
		switch {
		case v.Kind() == reflect.Struct:
			dropEmptyFields(v, encoded)
		case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
			for _, key := range v.MapKeys() {
				dropEmptyStructs(v.MapIndex(key), encoded[key.String()])
			}
		}
	case []any:
		if v.Kind() == reflect.Slice && v.Len() == len(encoded) {
			for i, e := range encoded {
				dropEmptyStructs(v.Index(i), e)
			}
		}
	}
}

// dropEmptyFields does for a struct what dropEmptyStructs does for any value.
func dropEmptyFields(v reflect.Value, encoded map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			dropEmptyStructs(v.Field(i), encoded)
			continue
		}
		if name == "" {
			name = field.Name
		}
		child, ok := encoded[name]
		if !ok {
			continue
		}
		dropEmptyStructs(v.Field(i), child)
		m, isMap := child.(map[string]any)
		says := !isMap || len(m) > 0
		if EncodesItself(field.Type) {
			says = !v.Field(i).IsZero()
		}
		if !says && field.Type.Kind() == reflect.Struct && slices.Contains(strings.Split(options, ","), "omitempty") {
			delete(encoded, name)
		}
	}
}

// EncodesItself reports whether a value of t, or a pointer to one, implements json.Marshaler.
func EncodesItself(t reflect.Type) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// Map returns obj as decoded JSON. The result shares no memory with obj.
func Map(obj any) (map[string]any, error) {
	data, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	if err := utiljson.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	return m, nil
}
