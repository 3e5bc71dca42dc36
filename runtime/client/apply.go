package client

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/object"
)

// applyConfiguration returns what a server-side apply of obj sends: the fields that obj means to set. For the status
// subresource that is the name and the status alone.
func applyConfiguration(obj object.Object, gvk schema.GroupVersionKind, statusOnly bool) (map[string]any, error) {
	configuration, err := toMap(obj)
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

// statusConfiguration is what of a configuration concerns the status of obj.
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

// dropNulls removes the entries of maps that are null, at any depth. Nulls in lists stay: they are positions.
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

// dropEmptyStructs removes from encoded, which is what v is in JSON, the empty objects of struct fields that are tagged
// omitempty, and the zero values of those whose type encodes itself, such as a port or a quantity: encoding/json cannot
// omit a struct, so that they say nothing. An empty object behind a pointer, in a list or in a map stays, because
// somebody set it.
func dropEmptyStructs(v reflect.Value, encoded any) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	if encodesItself(v.Type()) {
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

// dropEmptyFields is dropEmptyStructs for a struct.
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
		if encodesItself(field.Type) {
			says = !v.Field(i).IsZero()
		}
		if !says && field.Type.Kind() == reflect.Struct && slices.Contains(strings.Split(options, ","), "omitempty") {
			delete(encoded, name)
		}
	}
}

func encodesItself(t reflect.Type) bool {
	marshaler := reflect.TypeFor[json.Marshaler]()
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

// ConfigurationOf returns what an Apply of obj sends: to the named subresource, or to the object itself when that is "".
// The caller owns it.
func ConfigurationOf(obj object.Object, scheme *runtime.Scheme, subresource string) (map[string]any, error) {
	gvk, err := object.GVK(obj, scheme)
	if err != nil {
		return nil, err
	}
	return applyConfiguration(obj, gvk, subresource == statusSubresource)
}

// ApplyConfiguration applies what a typed apply configuration says, such as one of the applyconfiguration packages that
// kctrl and client-go's generators write: any pointer to a type whose JSON is an object with apiVersion, kind and a name.
// What is not in its JSON is not applied. configuration is set to the answer of the server, and is untouched on an error.
func ApplyConfiguration(ctx context.Context, c Writer, configuration any, opts ...ApplyOption) error {
	return applyTyped(configuration, func(u *unstructured.Unstructured) error { return c.Apply(ctx, u, opts...) })
}

// ApplyStatusConfiguration is [ApplyConfiguration] for the status, of which the configuration must have nothing but the
// name besides.
func ApplyStatusConfiguration(ctx context.Context, c Client, configuration any, opts ...ApplyOption) error {
	return applyTyped(configuration, func(u *unstructured.Unstructured) error { return c.Status().Apply(ctx, u, opts...) })
}

func applyTyped(configuration any, apply func(*unstructured.Unstructured) error) error {
	v := reflect.ValueOf(configuration)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("apply %T: the configuration must be a pointer, and not nil", configuration)
	}
	fields, err := toMap(configuration)
	if err != nil {
		return fmt.Errorf("apply %T: encode: %w", configuration, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	if u.GetAPIVersion() == "" || u.GetKind() == "" || u.GetName() == "" {
		return fmt.Errorf("apply %T: apiVersion, kind or name is missing", configuration)
	}
	if err := apply(u); err != nil {
		return err
	}
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("apply %T: %w", configuration, err)
	}
	fresh := reflect.New(v.Type().Elem())
	if err := json.Unmarshal(data, fresh.Interface()); err != nil {
		return &DecodeError{What: fmt.Sprintf("%s %s as %T", u.GetKind(), object.KeyOf(u), configuration), Err: err}
	}
	v.Elem().Set(fresh.Elem())
	return nil
}
