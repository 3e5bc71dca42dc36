package local_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/runtime/webhook/local"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// validating is a webhook configuration as kctrl manifests generates it.
const validating = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: NAME
  creationTimestamp: null
webhooks:
- name: v.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig:
    service: {name: webhook-service, namespace: system, path: /validate}
  rules:
  - {apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}
- name: w.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {url: "https://elsewhere.example.com/w"}
  rules:
  - {apiGroups: [none.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}
`

const crd = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.local.example.com
spec:
  group: local.example.com
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

const webhookURL = "https://127.0.0.1:9443"

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func named(name string) string { return strings.Replace(validating, "NAME", name, 1) }

func TestLoadReadsFilesAndDirectories(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b.yaml", "# comment\n---\n"+named("one")+"--- # another\n"+crd+"---\n\n---\n"+named("two"))
	write(t, dir, "a.yml", strings.ReplaceAll("---\n"+named("three")+"---\n"+named("four"), "\n", "\r\n"))
	write(t, dir, "c.json",
		`{"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "five"}}`)
	write(t, dir, "README.md", "kind: [")
	if err := os.Mkdir(filepath.Join(dir, "below.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	single := write(t, t.TempDir(), "single.txt", named("six"))
	all, err := local.Load(dir, single)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, u := range all {
		names = append(names, u.GetName())
	}
	if want := []string{"three", "four", "one", "two", "five", "six"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

func TestLoadNamesTheInvalidFile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"list.yaml": "- a\n", "half.yaml": named("a") + "---\nkind: [\n",
		"text.yaml": "text"} {
		path := write(t, dir, name, text)
		if _, err := local.Load(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	missing := filepath.Join(dir, "missing.yaml")
	if _, err := local.Load(missing); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is not there: %v", err)
	}
	other := write(t, dir, "other.yaml", crd)
	if _, err := local.Load(other); err == nil || err.Error() != "there is no webhook configuration in "+other {
		t.Errorf("a file without a configuration: %v", err)
	}
}

// TestOnAServer checks the objects on an API server during an installation, and checks that they are restored after it.
func TestOnAServer(t *testing.T) {
	env := inmemory.Start(t, testenv.WithCRDs(write(t, t.TempDir(), "crd.yaml", crd)))
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{live, env.Config.CAData}
	t.Run("WhatIsNewGoes", f.newGoes)
	t.Run("WhatWasDeployedComesBack", f.deployedComesBack)
	t.Run("WhatAKilledProcessHasLeftGoes", f.leftGoes)
	t.Run("WhatWasInstalledBeforeAnErrorGoes", f.halfGoes)
}

type fixture struct {
	live   *client.REST
	bundle []byte
}

func (f *fixture) installation(t *testing.T, name string) *local.Installation {
	return &local.Installation{
		Client: f.live, URL: webhookURL, Bundle: f.bundle,
		Configurations: []*unstructured.Unstructured{parse(t, named(name))},
		Kinds:          []schema.GroupKind{{Group: "local.example.com", Kind: "Thing"}},
	}
}

// get returns the object on the API server, or nil if it does not exist.
func (f *fixture) get(t *testing.T, gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	err := f.live.Get(t.Context(), object.Key{Name: name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// clients returns where the API server calls the webhooks of a configuration, each as a Service or a URL.
func (f *fixture) clients(t *testing.T, name string) (all []string) {
	t.Helper()
	u := f.get(t, parse(t, validating).GroupVersionKind(), name)
	if u == nil {
		return nil
	}
	webhooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	for _, w := range webhooks {
		config := w.(map[string]any)["clientConfig"].(map[string]any)
		if url, ok := config["url"].(string); ok {
			all = append(all, url)
			continue
		}
		all = append(all, "service "+config["service"].(map[string]any)["name"].(string))
	}
	return all
}

// conversion returns the conversion strategy of the CRD and where the API server calls its webhook.
func (f *fixture) conversion(t *testing.T) string {
	t.Helper()
	u := f.get(t, parse(t, crd).GroupVersionKind(), "things.local.example.com")
	strategy, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "strategy")
	url, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "webhook", "clientConfig", "url")
	service, _, _ := unstructured.NestedString(u.Object, "spec", "conversion", "webhook", "clientConfig", "service",
		"name")
	return strings.TrimSpace(strategy + " " + url + service)
}

const elsewhere = "https://elsewhere.example.com/w"

// run runs an installation, calls during while it is installed, and returns its result.
func run(t *testing.T, i *local.Installation, during func()) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	return i.Run(ctx, func() {
		during()
		cancel()
	})
}

func (f *fixture) newGoes(t *testing.T) {
	err := run(t, f.installation(t, "new"), func() {
		if got := f.clients(t, "new"); !slices.Equal(got, []string{webhookURL + "/validate", elsewhere}) {
			t.Errorf("the API server calls %q", got)
		}
		if got := f.conversion(t); got != "Webhook "+webhookURL+"/convert" {
			t.Errorf("the API server converts by %s", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.clients(t, "new"); got != nil {
		t.Errorf("afterwards it calls %q", got)
	}
	if got := f.conversion(t); got != "None" {
		t.Errorf("afterwards it converts by %s", got)
	}
}

func (f *fixture) deployedComesBack(t *testing.T) {
	deployed := parse(t, named("deployed"))
	if err := f.live.Create(t.Context(), deployed); err != nil {
		t.Fatal(err)
	}
	definition := f.get(t, parse(t, crd).GroupVersionKind(), "things.local.example.com")
	definition.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook",
		"webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"},
			"clientConfig":             map[string]any{"service": map[string]any{"name": "converter", "namespace": "system"}},
		}}
	if err := f.live.Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	err := run(t, f.installation(t, "deployed"), func() {
		if got := f.clients(t, "deployed"); !slices.Equal(got, []string{webhookURL + "/validate", elsewhere}) {
			t.Errorf("the API server calls %q", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.clients(t, "deployed"); !slices.Equal(got, []string{"service webhook-service", elsewhere}) {
		t.Errorf("afterwards it calls %q", got)
	}
	if got := f.conversion(t); got != "Webhook converter" {
		t.Errorf("afterwards it converts by %s", got)
	}
}

func (f *fixture) leftGoes(t *testing.T) {
	killed := f.installation(t, "left")
	killed.Configurations[0].Object["webhooks"] = killed.Configurations[0].Object["webhooks"].([]any)[:1]
	configurations := []*unstructured.Unstructured{killed.Configurations[0].DeepCopy()}
	if err := killed.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := f.installation(t, "left")
	next.Configurations, next.URL = configurations, "https://127.0.0.1:9444"
	err := run(t, next, func() {
		if got := f.clients(t, "left"); !slices.Equal(got, []string{"https://127.0.0.1:9444/validate"}) {
			t.Errorf("the API server calls %q", got)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := f.clients(t, "left"); got != nil {
		t.Errorf("afterwards it calls %q", got)
	}
	if got := f.conversion(t); got != "None" {
		t.Errorf("afterwards it converts by %s", got)
	}
}

func (f *fixture) halfGoes(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(i *local.Installation)
		want  string
	}{
		"a configuration without webhooks": {func(i *local.Installation) {
			i.Configurations = append(i.Configurations, parse(t,
				"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: empty}\n"))
		}, `ValidatingWebhookConfiguration "empty": it has no webhooks`},
		"a configuration that the server refuses": {func(i *local.Installation) {
			wrong := parse(t, named("wrong"))
			wrong.Object["webhooks"].([]any)[0].(map[string]any)["failurePolicy"] = "Perhaps"
			i.Configurations = append(i.Configurations, wrong)
		}, `install ValidatingWebhookConfiguration "wrong": `},
		"a kind without a CRD": {func(i *local.Installation) {
			i.Kinds = append(i.Kinds, schema.GroupKind{Group: "local.example.com", Kind: "Nothing"})
		}, "install the conversion of Nothing.local.example.com: "},
		"a kind that is no custom resource": {func(i *local.Installation) {
			i.Kinds = append(i.Kinds, schema.GroupKind{Group: "apps", Kind: "Deployment"})
		}, "install the conversion of Deployment.apps: "},
	} {
		t.Run(name, func(t *testing.T) {
			i := f.installation(t, "half")
			c.spoil(i)
			err := run(t, i, func() { t.Error("it is said to be installed") })
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if got := f.clients(t, "half"); got != nil {
				t.Errorf("afterwards the API server calls %q", got)
			}
			if got := f.conversion(t); got != "None" {
				t.Errorf("afterwards it converts by %s", got)
			}
		})
	}
}
