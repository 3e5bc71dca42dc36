package scaffold_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/render"
)

// TestScaffoldedTestsFailWithoutLogic makes every function that users write return at once, and every policy allow
// everything. Each test of the project passes before and fails afterwards.
func TestScaffoldedTestsFailWithoutLogic(t *testing.T) {
	p := newGuestbook(t)
	for _, opts := range []any{
		scaffold.APIOptions{Group: "webapp", Version: "v2", Kind: "Guestbook", Resource: true},
		scaffold.WebhookOptions{Group: "webapp", Version: "v1", Kind: "Guestbook", Defaulting: true, Validation: true,
			Policy: true},
		scaffold.WebhookOptions{Group: "core", Version: "v1", Kind: "Pod", Defaulting: true, Validation: true, Policy: true},
	} {
		p.create(t, opts)
	}
	want := []string{
		"TestGuestbookBecomesReady", "TestGuestbookIsDefaulted", "TestGuestbookIsValidated", "TestGuestbookPolicy",
		"TestGuestbookV1LosesNothing",
		"TestPodIsDefaulted", "TestPodIsValidated", "TestPodPolicy",
	}
	t.Run("with the logic", func(t *testing.T) {
		out := goCommand(t, p.dir, inMemoryEnv(t), "test", "-v", "./internal/...")
		if passed := results(out, "PASS"); !slices.Equal(passed, want) {
			t.Fatalf("%v pass, want %v\n%s", passed, want, out)
		}
	})

	for name, content := range readTree(t, p.dir) {
		folder := path.Dir(name)
		switch {
		case strings.HasSuffix(name, "_test.go"):
			// Shorten the time for which tests wait for states that are never reached.
			content = bytes.ReplaceAll(content, []byte("time.Minute"), []byte("5*time.Second"))
		case strings.HasPrefix(folder, "internal/") && path.Ext(name) == ".go":
			content = withoutLogic(t, name, content)
		case strings.HasSuffix(name, "_policy.yaml"):
			content = bytes.ReplaceAll(content, []byte(`request.operation != "CREATE"`),
				[]byte(`true || request.operation != "CREATE"`))
		default:
			continue
		}
		writeFile(t, filepath.Join(p.dir, filepath.FromSlash(name)), content)
	}
	removed, err := tryGoCommand(t.Context(), p.dir, inMemoryEnv(t), "test", "-vet=off", "-v", "./internal/...")
	if failed := results(removed, "FAIL"); err == nil || !slices.Equal(failed, want) {
		t.Errorf("without the logic %v fail, want %v\n%s", failed, want, removed)
	}
}

// TestScaffoldedTestsAskByEachVerb creates webhooks and policies for only updates or only deletions. Their tests must
// pass.
func TestScaffoldedTestsAskByEachVerb(t *testing.T) {
	p := newGuestbook(t)
	shelf := guestbook
	shelf.Kind, shelf.Namespaced, shelf.Controller = "Shelf", false, false
	p.createAPI(t, shelf)
	for _, own := range []bool{true, false} {
		for verb, kinds := range map[string][2]string{"update": {"Guestbook", "Pod"}, "delete": {"Shelf", "Namespace"}} {
			opts := scaffold.WebhookOptions{
				Group: "webapp", Version: "v1", Kind: kinds[0], Defaulting: verb == "update", Validation: true, Policy: true,
				Requests: render.Requests{Verbs: []string{verb}},
			}
			if !own {
				opts.Group, opts.Kind = "core", kinds[1]
			}
			p.create(t, opts)
		}
	}
	p.check(t)
	t.Run("tests", func(t *testing.T) { p.test(t, "./internal/webhook/...") })
}

// results returns the tests with a result in the output of go test -v, sorted by name.
func results(out, how string) []string {
	var names []string
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "--- "+how+": "); ok {
			name, _, _ := strings.Cut(rest, " ")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// withoutLogic returns a Go file whose functions return at once, except setup functions.
func withoutLogic(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, content, 0)
	if err != nil {
		t.Fatal(err)
	}
	zero := map[string]string{"error": "nil", "admission.Warnings": "nil", "reconcile.Result": "reconcile.Result{}"}
	for _, decl := range slices.Backward(file.Decls) {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Type.Results == nil || f.Name.Name == "SetupWithManager" {
			continue
		}
		var values []string
		for _, field := range f.Type.Results.List {
			start, end := set.Position(field.Type.Pos()).Offset, set.Position(field.Type.End()).Offset
			if value, ok := zero[string(content[start:end])]; ok {
				values = append(values, value)
			}
		}
		if len(values) == len(f.Type.Results.List) {
			at := set.Position(f.Body.Lbrace).Offset + 1
			content = slices.Concat(content[:at], []byte(" return "+strings.Join(values, ", ")+"\n"), content[at:])
		}
	}
	return content
}

// TestTestObjectsOfBuiltInKindsAreAccepted creates, in a dry run, the objects that webhook tests send for each built-in
// kind. A real API server checks more of them than an in-memory one.
func TestTestObjectsOfBuiltInKindsAreAccepted(t *testing.T) {
	p := newProject(t)
	p.initialize(t, scaffold.InitOptions{Domain: "example.com", Repo: "example.com/guestbook", License: "none"})
	kinds := map[string][]string{
		"core": {
			"ConfigMap", "Endpoints", "LimitRange", "Namespace", "Node", "PersistentVolume", "PersistentVolumeClaim", "Pod",
			"PodTemplate",
			"ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
		},
		"apps":              {"ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"},
		"batch":             {"CronJob", "Job"},
		"autoscaling":       {"HorizontalPodAutoscaler"},
		"coordination":      {"Lease"},
		"discovery":         {"EndpointSlice"},
		"networking.k8s.io": {"Ingress", "IngressClass", "NetworkPolicy"},
		"node":              {"RuntimeClass"},
		"policy":            {"PodDisruptionBudget"},
		"rbac":              {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
		"scheduling":        {"PriorityClass"},
		"storage":           {"CSIDriver", "StorageClass"},
	}
	objects := map[string][]*unstructured.Unstructured{} // by kind
	for group, names := range kinds {
		for _, kind := range names {
			p.planned(t, scaffold.WebhookOptions{Group: group, Version: "v1", Kind: kind, Policy: true})
			proj, err := project.Load(afero.NewIOFS(p.open(t)))
			if err != nil {
				t.Fatal(err)
			}
			for _, object := range objectsIn(t, readFile(t, p.dir, "internal/webhook/testdata/"+strings.ToLower(kind)+
				"_v1.yaml")) {
				if proj.Resources[len(proj.Resources)-1].Namespaced {
					object.SetNamespace("default")
				}
				objects[kind] = append(objects[kind], object)
			}
		}
	}
	p.kustomize(t, "config/policy")
	for name, start := range apiServers {
		t.Run(name, func(t *testing.T) {
			server := start(t)
			for kind, all := range objects {
				for _, object := range all {
					if err := server.dryRun(t, object); err != nil {
						t.Errorf("%s: %v", kind, err)
					}
				}
			}
		})
	}
}
