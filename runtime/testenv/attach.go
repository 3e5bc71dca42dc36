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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
)

// Attach uses an API server that is already running for a test. It creates CRDs with requests instead of the kctrl
// command. Options that would start further processes fail the test, and the Env has no kubeconfig. The server
// continues to run after the test. Attach does not modify config.
func Attach(t testing.TB, config *rest.Config, opts ...Option) *Env {
	t.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.faults || o.collect || o.fakeControllers != nil || o.kubernetes != "" || len(o.args) > 0 {
		t.Fatalf("attach to an API server: faults, a version, feature gates and controllers need a process: use testenv.Start")
	}
	objects, err := o.prepare(t)
	if err != nil {
		t.Fatalf("create objects: %v", err)
	}
	env := &Env{Config: rest.CopyConfig(config), requests: true}
	env.fill(t, o.crds, objects)
	return env
}

// createAll creates the objects in files and directories, and waits until the server serves the kinds that they define.
// It applies objects that already exist, as the kctrl command does, for example because a file is listed twice.
func createAll(ctx context.Context, config *rest.Config, paths []string) error {
	live, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return err
	}
	var defined []schema.GroupVersionKind
	err = eachObject(paths, func(object *unstructured.Unstructured) error {
		defined = append(defined, definedBy(object)...)
		err := live.Create(ctx, object)
		if apierrors.IsAlreadyExists(err) {
			return live.Apply(ctx, object, client.FieldOwner("kubectl"), client.ForceOwnership)
		}
		return err
	})
	if err != nil {
		return err
	}
	return awaitServed(ctx, config, defined)
}

// definedBy returns the kinds that a definition serves.
func definedBy(definition *unstructured.Unstructured) (kinds []schema.GroupVersionKind) {
	if definition.GroupVersionKind().GroupKind() != definitionKind {
		return nil
	}
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		if fields, _ := version.(map[string]any); fields["served"] == true {
			name, _ := fields["name"].(string)
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}

// awaitServed returns when discovery has all kinds, which is immediately the case for an in-memory server. It fails
// after a timeout, because two definitions may have the same name.
func awaitServed(ctx context.Context, config *rest.Config, kinds []schema.GroupVersionKind) error {
	const most, interval = 10 * time.Second, 50 * time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, most, fmt.Errorf("not served within %v: see the status of its definition",
		most))
	defer cancel()
	for len(kinds) > 0 {
		mapper, err := client.NewMapper(config, nil) // a new mapper, because the old one caches the missing kind
		if err != nil {
			return err
		}
		kinds = slices.DeleteFunc(kinds, func(kind schema.GroupVersionKind) bool {
			_, missing := mapper.RESTMapping(kind.GroupKind(), kind.Version)
			if missing != nil && !meta.IsNoMatchError(missing) {
				err = missing
			}
			return missing == nil
		})
		if err != nil || len(kinds) == 0 {
			return err
		}
		if life.Sleep(ctx, interval) != nil {
			return fmt.Errorf("%s: %w", kinds[0], context.Cause(ctx))
		}
	}
	return nil
}

// eachObject calls f for each object in files and directories, except files of kustomize.
func eachObject(paths []string, f func(object *unstructured.Unstructured) error) error {
	for _, path := range paths {
		files, err := manifestsIn(path)
		for _, name := range files {
			if err == nil {
				err = eachObjectOf(name, f)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// manifestsIn returns the files with objects in a directory and its subdirectories, except files of kustomize. The path
// may also be a file or a symbolic link.
func manifestsIn(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	root := path + string(filepath.Separator) // so that symbolic links are followed
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		manifest := slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
		if err == nil && !entry.IsDir() && manifest && !slices.Contains([]string{"kustomization.yaml", "kustomization.yml"},
			entry.Name()) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

func eachObjectOf(name string, f func(object *unstructured.Unstructured) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	for decoder := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil, len(object.Object) == 0:
		case object.IsList():
			err = object.EachListItem(func(item runtime.Object) error { return f(item.(*unstructured.Unstructured)) })
		default:
			err = f(object)
		}
		if err != nil {
			return err
		}
	}
}
