package scaffold_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	return s.Apply(t.Context(), object.DeepCopy(), client.DryRunAll, client.FieldOwner("test"), client.ForceOwnership)
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
			for folder := range p.overlays(t) {
				server.accept(t, folder, objectsIn(t, p.kustomize(t, folder)))
			}
		})
	}
}

// overlays writes a kustomization of config/default with each component, and one with all of them. They are yielded once they are
// there.
func (p *testProject) overlays(t *testing.T) func(func(string) bool) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, "config", "components"))
	if err != nil {
		t.Fatal(err)
	}
	listed := string(readFile(t, p.dir, "config/default/kustomization.yaml"))
	var missing []string
	for _, entry := range entries {
		if component := "../components/" + entry.Name(); !strings.Contains(listed, "["+component+"]") {
			missing = append(missing, component)
		}
	}
	return func(yield func(string) bool) {
		for _, components := range append([][]string{missing}, each(missing)...) {
			folder := "config/overlay-" + filepath.Base(strings.Join(components, "-"))
			writeFile(t, filepath.Join(p.dir, folder, "kustomization.yaml"),
				[]byte("resources: [../default]\ncomponents: ["+strings.Join(components, ", ")+"]\n"))
			if !yield(folder) {
				return
			}
		}
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
