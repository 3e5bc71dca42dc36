// Package local makes an API server call the webhooks of an operator outside the cluster by URL, on the loopback
// interface. It is for `make run` and for tests, and requires no Service, cert-manager or cluster network.
package local

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/internal/clientconfig"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Installation is a set of local webhooks that an API server calls. Install installs them. Remove restores the previous
// configurations and conversions if they called a Service. If they called a URL, Remove deletes them, because they
// remained from a process that was killed. An Installation is not safe for concurrent use.
type Installation struct {
	// Client writes to the API server.
	Client *client.REST
	// URL is the URL of the webhook server, such as https://127.0.0.1:9443.
	URL string
	// Bundle is the CA bundle in PEM.
	Bundle []byte
	// Configurations are webhook configurations, as returned by [Load]. In them, the URL replaces the Service.
	Configurations []*unstructured.Unstructured
	// Kinds are kinds that the webhook converts. Their CustomResourceDefinitions must exist on the server.
	Kinds []schema.GroupKind
	// Logger receives one line per change. Nil means slog.Default().
	Logger *slog.Logger

	undo []func(context.Context) error
}

// owner is the field manager of the installed objects.
const owner = client.FieldOwner("kctrl-local-webhooks")

// Load returns the webhook configurations in YAML and JSON files, and in the files of directories. It skips objects of
// other kinds, and fails if it finds no configurations.
func Load(paths ...string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, path := range paths {
		files, err := filesAt(path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			objects, err := loadFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			all = append(all, objects...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no webhook configuration in %s", strings.Join(paths, ", "))
	}
	return all, nil
}

// filesAt returns the manifests in a directory, in order. If path is a file, it returns path.
func filesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path)
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	return files, err
}

func loadFile(file string) ([]*unstructured.Unstructured, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split("\n"+string(text), "\n---") {
		// The separator may be followed by a comment or blanks.
		if rest, found := strings.CutPrefix(document, "\n"); found {
			document = rest
		} else if _, after, found := strings.Cut(document, "\n"); found {
			document = after
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
			return nil, err
		}
		if u.GroupVersionKind().Group == "admissionregistration.k8s.io" &&
			strings.HasSuffix(u.GetKind(), "WebhookConfiguration") {
			objects = append(objects, u)
		}
	}
	return objects, nil
}

// Install makes the API server call the webhooks. After an error, Remove reverts the changes made so far.
func (i *Installation) Install(ctx context.Context) error {
	for _, configuration := range i.Configurations {
		if err := i.apply(ctx, configuration.DeepCopy()); err != nil {
			return err
		}
	}
	for _, kind := range i.Kinds {
		if err := i.convert(ctx, kind); err != nil {
			return fmt.Errorf("install the conversion of %s: %w", kind, err)
		}
	}
	return nil
}

// Remove reverts all changes in reverse order.
func (i *Installation) Remove(ctx context.Context) error {
	var errs []error
	for _, undo := range slices.Backward(i.undo) {
		errs = append(errs, undo(ctx))
	}
	i.undo = nil
	return errors.Join(errs...)
}

func (i *Installation) apply(ctx context.Context, u *unstructured.Unstructured) error {
	configs, err := clientconfig.Of(u)
	if err != nil {
		return fmt.Errorf("%s %q: %w", u.GetKind(), u.GetName(), err)
	}
	for _, config := range configs {
		service, ok := config["service"].(map[string]any)
		if !ok {
			continue // it has its own URL
		}
		path, _ := service["path"].(string)
		delete(config, "service")
		maps.Copy(config, i.clientConfig(path))
	}
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(u.GroupVersionKind())
	err = i.Client.Get(ctx, object.KeyOf(u), before)
	switch {
	case err == nil:
		err = i.setWebhooks(ctx, u, u.Object["webhooks"])
	case apierrors.IsNotFound(err):
		u.SetManagedFields(nil)
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		err = i.Client.Create(ctx, u, owner)
	}
	if err != nil {
		return fmt.Errorf("install %s %q: %w", u.GetKind(), u.GetName(), err)
	}
	i.undo = append(i.undo, func(ctx context.Context) error {
		if byService(before) {
			return client.IgnoreNotFound(i.setWebhooks(ctx, u, before.Object["webhooks"]))
		}
		return client.IgnoreNotFound(i.Client.Delete(ctx, u))
	})
	i.logger().Info("the API server calls the webhooks here", "kind", u.GetKind(), "name", u.GetName(), "url", i.URL)
	return nil
}

// clientConfig returns the configuration for calls of a path of the webhook server.
func (i *Installation) clientConfig(path string) map[string]any {
	return map[string]any{"url": i.URL + path, "caBundle": base64.StdEncoding.EncodeToString(i.Bundle)}
}

// byService reports whether an object calls a Service, which means that it was deployed to the cluster.
func byService(u *unstructured.Unstructured) bool {
	configs, err := clientconfig.Of(u)
	return err == nil && slices.ContainsFunc(slices.Collect(maps.Values(configs)), func(config map[string]any) bool {
		return config["service"] != nil
	})
}

func (i *Installation) setWebhooks(ctx context.Context, u *unstructured.Unstructured, webhooks any) error {
	return i.patch(ctx, u, types.MergePatchType, map[string]any{"webhooks": webhooks})
}

func (i *Installation) patch(ctx context.Context, u *unstructured.Unstructured, form types.PatchType, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return i.Client.Patch(ctx, u, client.RawPatch(form, body), owner)
}

func (i *Installation) logger() *slog.Logger { return cmp.Or(i.Logger, slog.Default()) }

// convert makes the API server call the webhook to convert objects of a kind.
func (i *Installation) convert(ctx context.Context, kind schema.GroupKind) error {
	mapping, err := i.Client.RESTMapper().RESTMapping(kind)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
		Kind: "CustomResourceDefinition"})
	u.SetName(mapping.Resource.Resource + "." + kind.Group)
	if err := i.Client.Get(ctx, object.KeyOf(u), u); err != nil {
		return err
	}
	before := map[string]any{"strategy": "None"}
	if byService(u) {
		before, _, _ = unstructured.NestedMap(u.Object, "spec", "conversion")
	}
	if err := i.setConversion(ctx, u, map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             i.clientConfig("/convert"),
		},
	}); err != nil {
		return err
	}
	i.undo = append(i.undo, func(ctx context.Context) error {
		return client.IgnoreNotFound(i.setConversion(ctx, u, before))
	})
	i.logger().Info("the API server converts here", "kind", kind.String(), "url", i.URL)
	return nil
}

func (i *Installation) setConversion(ctx context.Context, u *unstructured.Unstructured,
	conversion map[string]any) error {
	return i.patch(ctx, u, types.JSONPatchType,
		[]any{map[string]any{"op": "add", "path": "/spec/conversion", "value": conversion}})
}

// Run installs the webhooks, calls installed, and removes the webhooks when ctx ends.
func (i *Installation) Run(ctx context.Context, installed func()) error {
	err := i.Install(ctx)
	if err == nil {
		installed()
		<-ctx.Done()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, i.Remove(ending))
}
