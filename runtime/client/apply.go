package client

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Applier applies objects. [Client] and [SubResourceWriter], such as the result of Client.Status, implement it.
type Applier interface {
	Apply(ctx context.Context, obj object.Object, opts ...ApplyOption) error
}

// ApplyConfiguration applies a typed apply configuration, such as a type of the applyconfiguration packages that kctrl
// and client-go's generators write. typed must be a pointer to a value whose JSON is an object with apiVersion, kind
// and name. Fields that are absent from the JSON are not applied. On success typed is set to the server's answer; on
// error it is unchanged. Pass c.Status() to apply the status.
func ApplyConfiguration(ctx context.Context, c Applier, typed any, opts ...ApplyOption) error {
	v := reflect.ValueOf(typed)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("apply %T: the configuration must be a pointer, and not nil", typed)
	}
	fields, err := configuration.Map(typed)
	if err != nil {
		return fmt.Errorf("apply %T: encode: %w", typed, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	if u.GetAPIVersion() == "" || u.GetKind() == "" || u.GetName() == "" {
		return fmt.Errorf("apply %T: apiVersion, kind or name is missing", typed)
	}
	if err := c.Apply(ctx, u, opts...); err != nil {
		return err
	}
	data, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("apply %T: %w", typed, err)
	}
	fresh := reflect.New(v.Type().Elem())
	if err := json.Unmarshal(data, fresh.Interface()); err != nil {
		return &DecodeError{What: fmt.Sprintf("%s %s as %T", u.GetKind(), object.KeyOf(u), typed), Err: err}
	}
	v.Elem().Set(fresh.Elem())
	return nil
}
