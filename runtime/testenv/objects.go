package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/configuration"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// WithObjects creates objects before the test begins, in their order, each with the status that it has. They are of kinds that scheme
// knows, or unstructured; scheme may be nil for these. CustomResourceDefinitions among them are installed first, as those of
// [WithCRDs]. The server checks them as it does all others, so that what it would refuse fails the test. They are not changed.
func WithObjects(scheme *runtime.Scheme, objects ...object.Object) Option {
	return func(o *options) {
		for _, obj := range objects {
			o.objects = append(o.objects, initial{scheme, obj})
		}
	}
}

// initial is an object that there is to be before the test begins.
type initial struct {
	scheme *runtime.Scheme
	object object.Object
}

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// unstructured is a copy of the object with its kind, without what only the server says.
func (i initial) unstructured() (*unstructured.Unstructured, error) {
	scheme := i.scheme
	if scheme == nil {
		scheme = runtime.NewScheme()
	}
	kind, err := object.GVK(i.object, scheme)
	if err != nil {
		return nil, err
	}
	content, err := configuration.Map(i.object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	u.SetResourceVersion("")
	return u, nil
}

// prepare reads the objects. Definitions among them go to a folder of the test, for those who install CRDs.
func (o *options) prepare(t testing.TB) (others []*unstructured.Unstructured, err error) {
	folder := ""
	for n, one := range o.objects {
		u, err := one.unstructured()
		if err != nil {
			return nil, err
		}
		if u.GroupVersionKind().GroupKind() != definitionKind {
			others = append(others, u)
			continue
		}
		if folder == "" {
			folder = t.TempDir()
			o.crds = append(o.crds, folder)
		}
		text, err := json.Marshal(u.Object)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.json", n)), text, 0o600); err != nil {
			return nil, err
		}
	}
	return others, nil
}

// createObjects creates objects with their status.
func createObjects(ctx context.Context, env *Env, objects []*unstructured.Unstructured) error {
	if len(objects) == 0 {
		return nil
	}
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	for _, u := range objects {
		if err := createWithStatus(ctx, live, u); err != nil {
			return fmt.Errorf("%s %s: %w", u.GetKind(), object.KeyOf(u), err)
		}
	}
	return nil
}

func createWithStatus(ctx context.Context, live *client.REST, u *unstructured.Unstructured) error {
	status := u.Object["status"]
	if err := live.Create(ctx, u); err != nil {
		return err
	}
	if status, _ := status.(map[string]any); len(status) == 0 || reflect.DeepEqual(u.Object["status"], status) {
		return nil
	}
	u.Object["status"] = status
	if err := live.Status().Update(ctx, u); err != nil && !apierrors.IsNotFound(err) { // of a kind without that subresource it was created
		return err
	}
	return nil
}
