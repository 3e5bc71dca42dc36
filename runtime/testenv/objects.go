package testenv

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/testclient"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// WithObjects creates objects before the test begins, in order, each with its status. The kinds of the objects must be
// in scheme, except the kinds of unstructured objects, for which scheme may be nil. CustomResourceDefinitions among the
// objects are installed first, as with [WithCRDs]. The server validates the objects, and the test fails if the server
// rejects one. WithObjects does not modify the objects.
func WithObjects(scheme *runtime.Scheme, objects ...object.Object) Option {
	return func(o *options) {
		for _, obj := range objects {
			o.objects = append(o.objects, initial{scheme, obj})
		}
	}
}

// initial is an object to create before the test begins.
type initial struct {
	scheme *runtime.Scheme
	object object.Object
}

var definitionKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// prepare reads the objects. It writes definitions among them to a directory of the test, to install them from there.
func (o *options) prepare(t testing.TB) (others []*unstructured.Unstructured, err error) {
	folder := ""
	for n, one := range o.objects {
		u, err := testclient.Unstructured(one.object, cmp.Or(one.scheme, runtime.NewScheme()))
		if err != nil {
			return nil, err
		}
		u.SetResourceVersion("")
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
	// A kind without the status subresource got its status when it was created.
	return client.IgnoreNotFound(live.Status().Update(ctx, u))
}
