package scaffold_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/testenv"
	"github.com/kctrl-dev/kctrl/testserver/inmemory"
)

// apiServer is an in-memory API server, or a real one, which also checks the built-in kinds.
type apiServer struct{ *client.REST }

// startServer starts an API server, which ends with the test.
type startServer func(*testing.T, ...testenv.Option) apiServer

// apiServers are the kinds of servers on which tests run. make test uses the in-memory servers.
var apiServers = map[string]startServer{"in memory": startInMemory, "real server": startReal}

func startReal(t *testing.T, opts ...testenv.Option) apiServer {
	t.Helper()
	t.Setenv(testenv.CommandVariable, kctrlCommand(t))
	t.Setenv(testenv.ServerVariable, "real")
	return clientOf(t, testenv.Start(t, opts...))
}

func startInMemory(t *testing.T, opts ...testenv.Option) apiServer {
	t.Helper()
	t.Setenv(testenv.ServerVariable, "in-memory")
	return clientOf(t, inmemory.Start(t, opts...))
}

func clientOf(t *testing.T, env *testenv.Env) apiServer {
	t.Helper()
	live, err := client.New(env.Config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return apiServer{live}
}

// dryRun applies an object as kubectl apply --server-side --dry-run=server does.
func (s apiServer) dryRun(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	object = object.DeepCopy()
	gvk := object.GroupVersionKind()
	if mapping, err := s.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version); err == nil &&
		mapping.Scope == meta.RESTScopeNamespace && object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault) // like a kubeconfig
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

// externalCRDs names the CRDs of other operators whose kinds components use.
var externalCRDs = map[string]string{
	"Certificate": "certificates.cert-manager.io", "Issuer": "issuers.cert-manager.io",
	"ServiceMonitor": "servicemonitors.monitoring.coreos.com", "PrometheusRule": "prometheusrules.monitoring.coreos.com",
}

// writeExternalCRDs writes CRDs for these kinds, with schemas that accept everything, into a new directory.
func writeExternalCRDs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for kind, name := range externalCRDs {
		plural, group, _ := strings.Cut(name, ".")
		text := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: " + name +
			"}\nspec:\n  group: " + group +
			"\n  scope: Namespaced\n  names: {kind: " + kind + ", plural: " + plural +
			"}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n" +
			"    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}\n"
		writeFile(t, filepath.Join(dir, plural+".yaml"), []byte(text))
	}
	return dir
}

// TestManifestsAreAccepted applies the manifests of the golden projects to an in-memory API server and to a real one.
// [TestMatrix] does the same for each choice of each property of projects.
func TestManifestsAreAccepted(t *testing.T) {
	for name, start := range apiServers {
		t.Run(name, func(t *testing.T) {
			for _, story := range stories() {
				t.Run(story.golden, func(t *testing.T) {
					p := newProject(t)
					if err := os.CopyFS(p.dir, os.DirFS(filepath.Join("..", "..", "testdata", story.golden))); err != nil {
						t.Fatal(err)
					}
					p.checkAccepted(t, start)
				})
			}
		})
	}
}

// checkAccepted applies all manifests of the project in a dry run on an API server: the deployed manifests with each
// component and with all components, and the samples.
func (p *testProject) checkAccepted(t *testing.T, start startServer) {
	t.Helper()
	server := start(t, testenv.WithCRDs(filepath.Join(p.dir, "config", "crd", "bases"), writeExternalCRDs(t)))
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
		with := objectsIn(t, p.kustomize(t, "config/default"))
		server.accept(t, "config/default with "+components, with)
		if equality.Semantic.DeepEqual(with, plain) {
			t.Errorf("the components %s add nothing", components)
		}
	})
}

// TestRulesOfPoliciesDecide checks the rules that flags add to policies, for a kind of the project and for a built-in
// kind. API servers reject requests that violate a rule, with the message of the rule. They accept all other requests,
// including a create under a rule that compares the object with its previous state.
func TestRulesOfPoliciesDecide(t *testing.T) {
	p := newGuestbook(t)
	own := scaffold.WebhookOptions{
		Group: "webapp", Version: "v1", Kind: "Guestbook", Policy: true,
		Rules: []string{`the message stays "so"=object.spec.message == oldObject.spec.message`,
			"no shouting=!object.spec.message.matches('^[A-Z ]+$')"},
		Requests: render.Requests{MatchConditions: []string{`free=object.metadata.name != "free"`}},
	}
	secrets := scaffold.WebhookOptions{
		Group: "core", Version: "v1", Kind: "Secret", Policy: true,
		Rules:    []string{"what is kept stays=!has(oldObject.metadata.labels) || !('keep' in oldObject.metadata.labels)"},
		Requests: render.Requests{Verbs: []string{"delete"}},
	}
	p.create(t, own)
	p.create(t, secrets)
	p.wantNothing(t, own)
	p.wantNothing(t, secrets)
	if err := os.Remove(filepath.Join(p.dir, project.LockFile)); err != nil {
		t.Fatal(err)
	}
	p.wantNothing(t, own) // without a lock, PROJECT has the source of the policy
	p.check(t)
	for name, start := range apiServers {
		t.Run(name, func(t *testing.T) { p.checkRules(t, start) })
	}
	t.Run("tests", func(t *testing.T) { p.test(t, "./internal/webhook/...") })
}

func (p *testProject) checkRules(t *testing.T, start startServer) {
	t.Helper()
	var policies []object.Object
	for _, policy := range objectsIn(t, p.kustomize(t, "config/policy")) {
		policies = append(policies, policy)
	}
	server := start(t, testenv.WithCRDs(filepath.Join(p.dir, "config", "crd", "bases")),
		testenv.WithObjects(nil, policies...))
	book := func(name, message string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "webapp.example.com/v1", "kind": "Guestbook", "metadata": map[string]any{"name": name,
				"namespace": "default"}, "spec": map[string]any{"message": message},
		}}
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	refused := func(what, message string, do func() error) {
		t.Helper()
		var err error
		for !apierrors.IsInvalid(err) && ctx.Err() == nil { // takes some time after the write
			err = do()
		}
		if err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: got %v, want %q", what, err, message)
		}
	}
	refused("a loud one", "no shouting", func() error {
		return server.Create(ctx, book("loud", "HELLO"),
			client.DryRunAll)
	})
	for _, one := range []*unstructured.Unstructured{book("free", "HELLO"), book("calm", "Hello")} {
		if err := server.Create(ctx, one); err != nil {
			t.Errorf("%s: %v", one.GetName(), err)
		}
	}
	refused("a change", `the message stays "so"`, func() error {
		return server.Apply(ctx, book("calm", "Bye"), client.FieldOwner("test"), client.ForceOwnership)
	})
	if err := server.Apply(ctx, book("calm", "Hello"), client.FieldOwner("test"), client.ForceOwnership); err != nil {
		t.Errorf("what changes nothing: %v", err)
	}
	for _, name := range []string{"kept", "other"} {
		secret := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"name": name, "namespace": "default"}}}
		if name == "kept" {
			secret.SetLabels(map[string]string{"keep": ""})
		}
		if err := server.Create(ctx, secret.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		if name == "other" {
			if err := server.Delete(ctx, secret); err != nil {
				t.Errorf("a secret that is not kept: %v", err)
			}
			continue
		}
		refused("a secret that is kept", "what is kept stays",
			func() error { return server.Delete(ctx, secret, client.DryRunAll) })
	}
}

// wantNothing checks that running a command a second time on unchanged files changes nothing.
func (p *testProject) wantNothing(t *testing.T, opts any) {
	t.Helper()
	plan, err := p.plan(t, forced(opts))
	if err != nil {
		t.Fatal(err)
	}
	for c := range plan.Changes() {
		if c.Path != project.LockFile {
			t.Errorf("%+v again changes %s:\n%s", opts, c.Path, plan.Diff())
		}
	}
}

// withComponents adds components to config/default as users would: first each component alone, then all. It calls try
// with the added components.
func (p *testProject) withComponents(t *testing.T, try func(components string)) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.dir, "config", "components"))
	if err != nil {
		t.Fatal(err)
	}
	const file, list = "config/default/kustomization.yaml", "components: ["
	text := readFile(t, p.dir, file)
	defer writeFile(t, filepath.Join(p.dir, file), text)
	before, listed, found := strings.Cut(string(text), list)
	if !found {
		t.Fatalf("%s has no %s", file, list)
	}
	var missing []string
	for _, entry := range entries {
		if component := "../components/" + entry.Name(); !strings.Contains(listed, component+"]") &&
			!strings.Contains(listed, component+",") {
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

// accept fails the test for each object that the server rejects.
func (s apiServer) accept(t *testing.T, where string, objects []*unstructured.Unstructured) {
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
