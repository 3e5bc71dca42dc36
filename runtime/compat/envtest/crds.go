package envtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// CRDInstallOptions selects the CustomResourceDefinitions that [InstallCRDs] installs.
type CRDInstallOptions struct {
	// Paths are files and directories with definitions.
	Paths []string
	// CRDs are additional definitions.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// ErrorIfPathMissing makes InstallCRDs fail if a path does not exist.
	ErrorIfPathMissing bool
	// MaxTime limits the wait until the server serves the definitions. Zero means ten seconds.
	MaxTime time.Duration
	// PollInterval is the interval at which InstallCRDs checks whether the definitions are served. Zero means 100
	// milliseconds.
	PollInterval time.Duration
}

// InstallCRDs creates or updates definitions, waits until the server serves them, and returns them.
func InstallCRDs(config *rest.Config, options CRDInstallOptions) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	if err := ReadCRDFiles(&options); err != nil {
		return nil, err
	}
	if err := CreateCRDs(config, options.CRDs); err != nil {
		return options.CRDs, err
	}
	return options.CRDs, WaitForCRDs(config, options.CRDs, options)
}

// ReadCRDFiles adds the definitions in the files and directories of Paths to CRDs.
func ReadCRDFiles(options *CRDInstallOptions) error {
	for _, path := range options.Paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !options.ErrorIfPathMissing:
			continue
		case err == nil && info.IsDir():
			path += string(filepath.Separator) // so that symbolic links are followed
		}
		err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || name != path && !slices.Contains([]string{".yaml", ".yml", ".json"},
				filepath.Ext(name)) {
				return err
			}
			read, err := readCRDs(name)
			options.CRDs = append(options.CRDs, read...)
			return err
		})
		if err != nil {
			return fmt.Errorf("read CRDs: %w", err)
		}
	}
	return nil
}

// readCRDs returns the documents of a file that are definitions.
func readCRDs(name string) (all []*apiextensionsv1.CustomResourceDefinition, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	documents := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		switch err := documents.Decode(crd); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		case crd.Kind == "CustomResourceDefinition":
			all = append(all, crd)
		}
	}
}

// CreateCRDs creates or updates definitions.
func CreateCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	live, err := definitionClient(config)
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if err := createOrUpdate(context.Background(), live, crd); err != nil {
			return fmt.Errorf("install CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}

func createOrUpdate(ctx context.Context, live *client.REST, crd *apiextensionsv1.CustomResourceDefinition) error {
	for {
		created := crd.DeepCopy()
		created.ResourceVersion = ""
		err := live.Create(ctx, created)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		var stored apiextensionsv1.CustomResourceDefinition
		if err := live.Get(ctx, object.KeyOf(crd), &stored); err != nil {
			return err
		}
		changed := crd.DeepCopy()
		changed.ResourceVersion = stored.ResourceVersion
		if err := live.Update(ctx, changed); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// WaitForCRDs waits until the server serves all versions that the definitions mark as served.
func WaitForCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition,
	options CRDInstallOptions) error {
	timeout, interval := cmp.Or(options.MaxTime, 10*time.Second), cmp.Or(options.PollInterval, 100*time.Millisecond)
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeout, fmt.Errorf("not served within %v", timeout))
	defer cancel()
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			if !version.Served {
				continue
			}
			if err := awaitServed(ctx, config, gvk, interval); err != nil {
				return fmt.Errorf("wait for CRD %s: %s: %w", crd.Name, gvk, err)
			}
		}
	}
	return nil
}

func awaitServed(ctx context.Context, config *rest.Config, gvk schema.GroupVersionKind, interval time.Duration) error {
	for {
		mapper, err := client.NewMapper(config, nil) // a new mapper, because the old one caches the missing kind
		if err != nil {
			return err
		}
		if _, err = mapper.RESTMapping(gvk.GroupKind(), gvk.Version); !meta.IsNoMatchError(err) {
			return err
		}
		if life.Sleep(ctx, interval) != nil {
			return context.Cause(ctx)
		}
	}
}

// UninstallCRDs deletes definitions. It ignores definitions that do not exist.
func UninstallCRDs(config *rest.Config, options CRDInstallOptions) error {
	if err := ReadCRDFiles(&options); err != nil {
		return err
	}
	live, err := definitionClient(config)
	if err != nil {
		return err
	}
	for _, crd := range options.CRDs {
		if err := live.Delete(context.Background(), crd.DeepCopy()); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("uninstall CRD %s: %w", crd.Name, err)
		}
	}
	return nil
}

func definitionClient(config *rest.Config) (*client.REST, error) {
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}
