package scaffold_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
)

// realServer is an API server that checks all that it is given.
type realServer struct{ *client.REST }

func startReal(t *testing.T, opts ...testenv.Option) realServer {
	t.Helper()
	t.Setenv(testenv.CommandVariable, kctrlCommand(t))
	live, err := client.New(testenv.Start(t, opts...).Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return realServer{live}
}

// dryRun applies an object as kubectl apply --server-side --dry-run=server does.
func (s realServer) dryRun(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	object = object.DeepCopy()
	gvk := object.GroupVersionKind()
	if mapping, err := s.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err == nil && mapping.Scope == meta.RESTScopeNamespace && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault) // as a kubeconfig has it
	}
	return s.Apply(t.Context(), object, client.DryRunAll, client.FieldOwner("test"), client.ForceOwnership)
}

func objectsIn(t *testing.T, manifests []byte) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			all = append(all, object)
		}
	}
}

// strangers are kinds that components name and that come from others, by what they are called.
var strangers = map[string]string{
	"Certificate": "certificates.cert-manager.io", "Issuer": "issuers.cert-manager.io",
	"ServiceMonitor": "servicemonitors.monitoring.coreos.com", "PrometheusRule": "prometheusrules.monitoring.coreos.com",
}

// strangerCRDs writes CRDs for them that take everything.
func strangerCRDs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for kind, name := range strangers {
		plural, group, _ := strings.Cut(name, ".")
		text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name + "}\nspec:\n  group: " + group +
			"\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + plural + "}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
			"    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
		writeFile(t, filepath.Join(dir, plural+".yaml"), []byte(text))
	}
	return dir
}

// TestWhatIsDeployedIsAccepted applies everything that the golden projects deploy, with each of their components and with all of them, and
// their samples, to a real API server by a dry run. Projects with certificates of their own do without cert-manager.
func TestWhatIsDeployedIsAccepted(t *testing.T) {
	for _, story := range stories() {
		t.Run(story.golden, func(t *testing.T) {
			golden, err := filepath.Abs(filepath.Join("..", "..", "testdata", story.golden))
			if err != nil {
				t.Fatal(err)
			}
			p := newProject(t)
			for name, content := range readTree(t, golden) {
				writeFile(t, filepath.Join(p.dir, filepath.FromSlash(name)), content)
			}
			server := startReal(t, testenv.WithCRDs(filepath.Join(p.dir, "config", "crd", "bases"), strangerCRDs(t)))
			plain := objectsIn(t, p.kustomize(t, "config/default"))
			for _, object := range plain {
				if object.GetKind() == "Namespace" {
					if err := server.Create(t.Context(), object.DeepCopy()); err != nil {
						t.Fatal(err)
					}
				}
			}
			server.accept(t, "config/default", plain)
			server.accept(t, "config/samples", objectsIn(t, p.kustomize(t, "config/samples")))
			p.withComponents(t, func(components string) {
				server.accept(t, "config/default with "+components, objectsIn(t, p.kustomize(t, "config/default")))
			})
		})
	}
}

// withComponents lists each component in config/default, beside those that are there, and then all of them, as users do, and calls try
// with what it has added.
func (p *testProject) withComponents(t *testing.T, try func(components string)) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, "config", "components"))
	if err != nil {
		t.Fatal(err)
	}
	const file, list = "config/default/kustomization.yaml", "components: ["
	before, listed, found := strings.Cut(string(readFile(t, p.dir, file)), list)
	if !found {
		t.Fatalf("%s has no %s", file, list)
	}
	var missing []string
	for _, entry := range entries {
		if component := "../components/" + entry.Name(); !strings.Contains(listed, component+"]") && !strings.Contains(listed, component+",") {
			missing = append(missing, component)
		}
	}
	for _, components := range append([][]string{missing}, each(missing)...) {
		added := strings.Join(components, ", ")
		rest := listed
		if !strings.HasPrefix(rest, "]") {
			rest = ", " + rest
		}
		writeFile(t, filepath.Join(p.dir, file), []byte(before+list+added+rest))
		try(added)
	}
}

func each(list []string) [][]string {
	var all [][]string
	for _, item := range list {
		all = append(all, []string{item})
	}
	return all
}

// accept fails the test for every object that the server refuses.
func (s realServer) accept(t *testing.T, where string, objects []*unstructured.Unstructured) {
	t.Helper()
	if len(objects) == 0 {
		t.Errorf("%s is empty", where)
	}
	for _, object := range objects {
		if err := s.dryRun(t, object); err != nil {
			t.Errorf("%s: %s %s: %v", where, object.GetKind(), object.GetName(), err)
		}
	}
}
