package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
)

// Attach gives a test an API server that is there already, such as one in the process of the test: package inmemory does so.
// The CRDs are created by requests, not by the kctrl command. Options about processes that Start would start fail the test,
// and the Env has no kubeconfig. The server goes on when the test has ended; the config is not changed.
func Attach(t testing.TB, config *rest.Config, opts ...Option) *Env {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.faults || o.kubernetes != "" || len(o.args) > 0 {
		t.Fatalf("use an API server that runs already: it has no processes to give faults, a version, feature gates or controllers to: use testenv.Start")
	}
	objects, err := o.prepare(t)
	if err != nil {
		t.Fatalf("create objects: %v", err)
	}
	env := &Env{Config: rest.CopyConfig(config)}
	if err := createAll(t.Context(), env, o.crds); err != nil {
		t.Fatalf("install CRDs: %v", err)
	}
	if err := createObjects(t.Context(), env, objects); err != nil {
		t.Fatalf("create objects: %v", err)
	}
	o.runControllers(t, env)
	return env
}

// createAll creates the objects in files and folders.
func createAll(ctx context.Context, env *Env, paths []string) error {
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	return eachObject(paths, func(object *unstructured.Unstructured) error { return live.Create(ctx, object) })
}

// eachObject calls f with each object in files and folders, but for what kustomize reads.
func eachObject(paths []string, f func(object *unstructured.Unstructured) error) error {
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			manifest := name == path || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
			if err != nil || entry.IsDir() || !manifest || filepath.Base(name) == "kustomization.yaml" {
				return err
			}
			return eachObjectOf(name, f)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

func eachObjectOf(name string, f func(object *unstructured.Unstructured) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := f(object); err != nil {
			return err
		}
	}
}
