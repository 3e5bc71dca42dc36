package envtest

import (
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
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	kclient "github.com/kctrl-dev/kctrl/runtime/client"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

const (
	defaultPollInterval = 100 * time.Millisecond
	defaultMaxTime      = 10 * time.Second
)

// init adds CustomResourceDefinition to client-go's scheme, because tests expect it there.
func init() {
	if err := apiextensionsv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
}

// CRDInstallOptions determine which CRDs [InstallCRDs] installs, and how.
type CRDInstallOptions struct {
	// Scheme has the Go types of the kinds. Convertible kinds get a conversion webhook.
	Scheme *runtime.Scheme
	// Paths are files and directories with CRDs.
	Paths []string
	// CRDs are additional CRDs.
	CRDs []*apiextensionsv1.CustomResourceDefinition
	// ErrorIfPathMissing makes missing paths an error.
	ErrorIfPathMissing bool
	// MaxTime limits the wait until the server serves the CRDs. 0 means 10 s.
	MaxTime time.Duration
	// PollInterval is the interval between checks. 0 means 100 ms.
	PollInterval time.Duration
	// CleanUpAfterUse deletes the CRDs when the environment stops.
	CleanUpAfterUse bool
	// WebhookOptions contain the address of conversion webhooks.
	WebhookOptions WebhookInstallOptions
}

func (o *CRDInstallOptions) complete() {
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	if o.MaxTime == 0 {
		o.MaxTime = defaultMaxTime
	}
	if o.PollInterval == 0 {
		o.PollInterval = defaultPollInterval
	}
}

// InstallCRDs creates or updates CRDs, waits until the server serves them, and returns them.
func InstallCRDs(
	config *rest.Config, options CRDInstallOptions,
) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	options.complete()
	if err := ReadCRDFiles(&options); err != nil {
		return nil, fmt.Errorf("unable to read CRD files: %w", err)
	}
	if err := options.addConversion(); err != nil {
		return nil, err
	}
	if err := CreateCRDs(config, options.CRDs); err != nil {
		return options.CRDs, fmt.Errorf("unable to create CRD instances: %w", err)
	}
	if err := WaitForCRDs(config, options.CRDs, options); err != nil {
		return options.CRDs, fmt.Errorf("something went wrong waiting for CRDs to appear as API resources: %w", err)
	}
	return options.CRDs, nil
}

// ReadCRDFiles adds the CRDs in the files and directories of Paths to CRDs. If several CRDs have the same name, the
// last one replaces the others.
func ReadCRDFiles(options *CRDInstallOptions) error {
	for _, path := range options.Paths {
		files, err := filesAt(path)
		if errors.Is(err, fs.ErrNotExist) && !options.ErrorIfPathMissing {
			continue
		}
		if err != nil {
			return err
		}
		for _, file := range files {
			crds, err := readCRDs(file)
			if err != nil {
				return err
			}
			options.CRDs = append(options.CRDs, crds...)
		}
	}
	options.CRDs = lastOfEachName(options.CRDs)
	return nil
}

func lastOfEachName(
	all []*apiextensionsv1.CustomResourceDefinition,
) (unique []*apiextensionsv1.CustomResourceDefinition) {
	for i, crd := range all {
		again := func(other *apiextensionsv1.CustomResourceDefinition) bool { return other.Name == crd.Name }
		if !slices.ContainsFunc(all[i+1:], again) {
			unique = append(unique, crd)
		}
	}
	return unique
}

// filesAt returns the manifests in a directory, without its subdirectories, or the file itself.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, nil
}

// readCRDs returns the CRDs in a file.
func readCRDs(name string) (all []*apiextensionsv1.CustomResourceDefinition, err error) {
	err = eachDocument(name, func(decode func(into any) error) error {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := decode(crd); err != nil {
			return err
		}
		if crd.Kind == "CustomResourceDefinition" && crd.Spec.Names.Kind != "" {
			all = append(all, crd)
		}
		return nil
	})
	return all, err
}

// eachDocument calls f for each YAML document of a file.
func eachDocument(name string, f func(decode func(into any) error) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder := yaml.NewYAMLOrJSONDecoder(file, 4096)
	for {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && len(raw.Raw) > 0 {
			err = f(func(into any) error { return yaml.Unmarshal(raw.Raw, into) })
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

// CreateCRDs creates or updates CRDs.
func CreateCRDs(config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	c, err := client.New(config, client.Options{})
	if err != nil {
		return fmt.Errorf("unable to create client: %w", err)
	}
	for _, crd := range crds {
		log.V(1).Info("installing CRD", "crd", crd.GetName())
		if err := createOrUpdate(context.Background(), c, crd); err != nil {
			return err
		}
	}
	return nil
}

// createOrUpdate writes obj and retries after a conflict.
func createOrUpdate(ctx context.Context, c client.Client, obj client.Object) error {
	for {
		created := obj.DeepCopyObject().(client.Object)
		created.SetResourceVersion("")
		err := c.Create(ctx, created)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		stored := obj.DeepCopyObject().(client.Object)
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), stored); err != nil {
			return err
		}
		changed := obj.DeepCopyObject().(client.Object)
		changed.SetResourceVersion(stored.GetResourceVersion())
		if err := c.Update(ctx, changed); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// WaitForCRDs waits until the server serves all served versions of CRDs.
func WaitForCRDs(
	config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition, options CRDInstallOptions,
) error {
	options.complete()
	ctx, cancel := context.WithTimeout(context.Background(), options.MaxTime)
	defer cancel()
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			gvr := schema.GroupVersionResource{
				Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural,
			}
			if err := awaitServed(ctx, config, gvr, options.PollInterval); err != nil {
				return fmt.Errorf("wait for CRD %s: %w", crd.Name, err)
			}
		}
	}
	return nil
}

func awaitServed(ctx context.Context, config *rest.Config, gvr schema.GroupVersionResource, every time.Duration) error {
	for {
		mapper, err := kclient.NewMapper(config, nil) // a new mapper has not cached that the kind is missing
		if err != nil {
			return err
		}
		if _, err = mapper.KindFor(gvr); !meta.IsNoMatchError(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not served: %w", gvr, ctx.Err())
		case <-time.After(every):
		}
	}
}

// UninstallCRDs deletes CRDs. It ignores CRDs that do not exist.
func UninstallCRDs(config *rest.Config, options CRDInstallOptions) error {
	if err := ReadCRDFiles(&options); err != nil {
		return err
	}
	c, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	for _, crd := range options.CRDs {
		log.V(1).Info("uninstalling CRD", "crd", crd.GetName())
		if err := client.IgnoreNotFound(c.Delete(context.Background(), crd.DeepCopy())); err != nil {
			return err
		}
	}
	return nil
}

// addConversion adds a conversion webhook to the CRDs of convertible kinds.
func (o *CRDInstallOptions) addConversion() error {
	hooks := &o.WebhookOptions
	if len(hooks.LocalServingCAData) == 0 {
		return nil
	}
	convertible, err := convertibleKinds(o.Scheme)
	if err != nil {
		return err
	}
	address, err := hooks.hostPort()
	if err != nil {
		return err
	}
	for i, crd := range o.CRDs {
		kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		if !hooks.IgnoreSchemeConvertible && !convertible[kind] {
			continue
		}
		crd = crd.DeepCopy()
		if crd.Spec.Conversion == nil {
			crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{}
		}
		crd.Spec.Conversion.Strategy = apiextensionsv1.WebhookConverter
		if crd.Spec.Conversion.Webhook == nil {
			crd.Spec.Conversion.Webhook = &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"}}
		}
		crd.Spec.Conversion.Webhook.ClientConfig = &apiextensionsv1.WebhookClientConfig{
			URL: new(fmt.Sprintf("https://%s/convert", address)), CABundle: hooks.LocalServingCAData,
		}
		o.CRDs[i] = crd
	}
	return nil
}

// convertibleKinds returns the kinds of scheme with a hub and spokes.
func convertibleKinds(s *runtime.Scheme) (map[schema.GroupKind]bool, error) {
	kinds := map[schema.GroupKind]bool{}
	for gvk := range s.AllKnownTypes() {
		obj, err := s.New(gvk)
		if err != nil {
			return nil, err
		}
		if convertible, err := conversion.IsConvertible(s, obj); err == nil && convertible {
			kinds[gvk.GroupKind()] = true
		}
	}
	return kinds, nil
}
