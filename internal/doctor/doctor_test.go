package doctor_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/doctor"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// goldenProject returns a copy of a golden project. Its lock has no bundled runtime.
func goldenProject(t *testing.T) *doctor.Project {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "testdata", "project"))); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "third_party", "kctrl"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := transaction.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return &doctor.Project{
		Dir: dir, FS: afero.NewIOFS(root),
		GoVersion: func(context.Context) (string, error) { return "go1.99.0", nil },
		Compiled:  func(context.Context) bool { return true },
	}
}

func edit(t *testing.T, p *doctor.Project, name, old, now string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", name, old)
	}
	if err == nil || old == "" {
		err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(strings.Replace(string(text), old, now, 1)), 0o644))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// problems contains, for each check, a change that breaks a valid project, and the expected finding.
var problems = map[string]struct {
	spoil      func(t *testing.T, p *doctor.Project)
	want, hint string
}{
	"project": {func(t *testing.T, p *doctor.Project) { edit(t, p, "PROJECT", "domain: ", "domein: ") }, "PROJECT:", ""},
	"lock": {func(t *testing.T, p *doctor.Project) {
		if err := os.Remove(filepath.Join(p.Dir, "PROJECT.lock")); err != nil {
			t.Fatal(err)
		}
	}, "PROJECT.lock: the file is missing", "kctrl doctor --fix writes it again"},
	"conflicts": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "Makefile", "", "<<<<<<< yours\nA = 1\n=======\nA = 2\n>>>>>>> kctrl\n")
	}, "Makefile:1: has a conflict", "remove the markers"},
	"api-module": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "api/go.mod", "", "module example.com/guestbook/api\n\ngo 1.26.0\n")
		edit(t, p, "go.mod", "\nreplace ", "\nreplace example.com/guestbook/api => ./api\n\nreplace ")
	}, "replaces example.com/guestbook/api, and does not require it", "kctrl doctor --fix requires it"},
	"markers": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "api/v1/guestbook_types.go", "object:root", "object:rot")
	},
		`unknown marker "+kubebuilder:object:rot"`, "write // +kubebuilder:object:root=true"},
	"generated": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "config/crd/bases/webapp.example.com_guestbooks.yaml", "plural: guestbooks", "plural: guests")
	}, "config/crd/bases/webapp.example.com_guestbooks.yaml:", "kctrl doctor --fix"},
	"roles": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "config/rbac/role.yaml", "  - get\n", "  - get\n  - delete\n")
	},
		"config/rbac/role.yaml:", "kctrl doctor --fix"},
	"rbac": {func(t *testing.T, p *doctor.Project) {
		addRuntime(t, p)
		file := "internal/controller/guestbook_controller.go"
		edit(t, p, file, "resources=guestbooks,verbs=get", "resources=guestbooks,verbs=delete;get")
	},
		"excess: no reached call needs delete on guestbooks.webapp.example.com",
		"remove it, or write //kctrl:ignore rbac:"},
	"webhooks": {func(t *testing.T, p *doctor.Project) {
		addRuntime(t, p)
		edit(t, p, "internal/webhook/guestbook_validator.go", "path=/validate-webapp", "path=/validate-web-app")
	},
		"guestbook_validator.go:34:4: the webhook configuration has the path /validate-web-app-example-com-v1-guestbook, ",
		"register the webhook in the manager, or remove the marker"},
	"samples": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "config/samples/webapp_v1_guestbook.yaml", "  message: ", "  mesage: ")
	}, "config/samples/webapp_v1_guestbook.yaml:", "did you mean message?"},
	"deployment": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "config/default/kustomization.yaml", "- ../rbac", "- ../rbca")
	}, "lists ../rbca, which does not exist", "remove it from the list"},
	"program": {func(t *testing.T, p *doctor.Project) {
		for _, name := range []string{"main.go", "zz_generated.register.go"} {
			if err := os.Rename(filepath.Join(p.Dir, "cmd", name), filepath.Join(p.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}, "builds ./cmd, and the program that starts the manager is in .", "write . there"},
	"runtime": {func(t *testing.T, p *doctor.Project) {
		if err := os.RemoveAll(filepath.Join(p.Dir, "third_party")); err != nil {
			t.Fatal(err)
		}
	}, "the bundled runtime lacks", "kctrl generate writes them"},
	"go": {func(_ *testing.T, p *doctor.Project) {
		p.GoVersion = func(context.Context) (string, error) { return "go1.20.1", nil }
	}, "but the go command is go1.20.1", "install a newer Go"},
	"kctrl": {func(_ *testing.T, p *doctor.Project) { p.Kctrl.Version = "v1.2.3" }, "but this is kctrl v1.2.3",
		"use that version"},
	"control-plane": {func(_ *testing.T, p *doctor.Project) { p.Compiled = func(context.Context) bool { return false } },
		"the control plane is not compiled yet", "kctrl env build"},
	"kubebuilder": {func(t *testing.T, p *doctor.Project) {
		edit(t, p, "config/crd/patches/webhook_in_guestbooks.yaml", "", "kind: CustomResourceDefinition\n")
	}, "config/crd/patches/webhook_in_guestbooks.yaml: belongs to kubebuilder", "kctrl doctor --fix deletes it"},
}

// TestEachCheckFindsItsProblem breaks a project for one check at a time. If the finding is fixable, the plan repairs it
// and a second run has no findings.
func TestEachCheckFindsItsProblem(t *testing.T) {
	for _, check := range doctor.Checks {
		t.Run(check.Name, func(t *testing.T) {
			problem, found := problems[check.Name]
			if !found {
				t.Fatal("the check has no row in problems")
			}
			p := goldenProject(t)
			problem.spoil(t, p)
			all, err := doctor.Examine(t.Context(), p, check.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(all, func(f doctor.Finding) bool {
				return f.Code == check.Name || check.Name == "markers" && f.Code != ""
			}) {
				t.Fatalf("nothing is found")
			}
			said := slices.ContainsFunc(all, func(f doctor.Finding) bool {
				return strings.Contains(f.Error.Error(), problem.want) && strings.Contains(f.Hint, problem.hint) &&
					(f.Hint != "" || problem.hint == "")
			})
			if !said {
				for _, f := range all {
					t.Errorf("found %v\nhint: %s", f.Error, f.Hint)
				}
			}
			if check.Fix != nil {
				checkFix(t, p, check, all)
			}
		})
	}
}

// addRuntime writes the bundled runtime, without which the project does not compile.
func addRuntime(t *testing.T, p *doctor.Project) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(p.Dir, "third_party")); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(doctor.Checks, func(c doctor.Check) bool { return c.Name == "runtime" })
	found, err := doctor.Examine(t.Context(), p, "runtime")
	if err != nil {
		t.Fatal(err)
	}
	checkFix(t, p, doctor.Checks[i], found)
}

func checkFix(t *testing.T, p *doctor.Project, check doctor.Check, found []doctor.Finding) {
	t.Helper()
	root, err := transaction.Open(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	fixes, err := doctor.Fix(t.Context(), p, found)
	if err != nil {
		t.Fatal(err)
	}
	if err := fixes.Apply(t.Context(), root, "test"); err != nil {
		t.Fatal(err)
	}
	again := &doctor.Project{Dir: p.Dir, FS: p.FS, Kctrl: p.Kctrl, GoVersion: p.GoVersion, Compiled: p.Compiled}
	left, err := doctor.Examine(t.Context(), again, check.Name)
	if err != nil || len(left) > 0 {
		t.Errorf("the fix leaves %v (%v)", left, err)
	}
	if fixes, err := doctor.Fix(t.Context(), again, found); err != nil || fixes.Len() > 0 {
		t.Errorf("the fix again: %v", err)
	}
}

// TestHealthyProjectHasNoFindings checks that a valid project has no findings, except those about the machine.
func TestHealthyProjectHasNoFindings(t *testing.T) {
	found, err := doctor.Examine(t.Context(), goldenProject(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		t.Errorf("%s: %v", f.Code, f.Error)
	}
}

// TestDriftIsReportedOnce removes all generated files of a project and expects one finding for each.
func TestDriftIsReportedOnce(t *testing.T) {
	p := goldenProject(t)
	if err := os.Remove(filepath.Join(p.Dir, "api", "v1", "zz_generated.deepcopy.go")); err != nil {
		t.Fatal(err)
	}
	found, err := doctor.Examine(t.Context(), p)
	if err != nil || len(found) != 1 || !errors.Is(found[0].Error, diagnostic.ErrDrift) {
		t.Errorf("got %v (%v), want the one file that is missing", found, err)
	}
}

// TestSamplesAreCheckedAsServersDo gives a kind a field of every form, and checks valid and invalid samples.
func TestSamplesAreCheckedAsServersDo(t *testing.T) {
	p := goldenProject(t)
	edit(t, p, "api/v1/guestbook_types.go", "type GuestbookSpec struct {", `type GuestbookSpec struct {
	// +optional
	Port *intstr.IntOrString `+"`json:\"port,omitempty\"`"+`
	// +optional
	Memory *resource.Quantity `+"`json:\"memory,omitempty\"`"+`
	// +optional
	Labels map[string]string `+"`json:\"labels,omitempty\"`"+`
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	Replicas int32 `+"`json:\"replicas\"`"+`
	// +optional
	Most int64 `+"`json:\"most,omitempty\"`"+`
	// +optional
	// +kubebuilder:validation:MaxItems=2
	Names []string `+"`json:\"names,omitempty\"`"+`
`)
	edit(t, p, "api/v1/guestbook_types.go", "import (",
		"import (\n\t\"k8s.io/apimachinery/pkg/api/resource\"\n\t\"k8s.io/apimachinery/pkg/util/intstr\"\n")
	for fields, want := range map[string]string{
		"": "", "  port: 80\n": "", "  port: http\n": "", "  memory: 1Gi\n": "", "  labels: {a.b/c: d}\n": "",
		"  replicas: 1\n": "", "  most: 9223372036854775807\n": "",
		"  most: 9223372036854775808\n":   "10:9: spec.most",
		"  port: [1]\n":                   "10:3: spec.port",
		"  replicas: 0\n":                 "10:13: spec.replicas",
		"  replicas: many\n":              "10:13: spec.replicas",
		"  labels: {a: 1}\n":              "10:15: spec.labels.a",
		"  names:\n    - a\n    - 5\n":    "12:7: spec.names[1]",
		"  names: [a, b, c]\n":            "10:3: spec.names",
		"  nomes: [a]\n":                  "10:3: Guestbook has no field spec.nomes",
		"  labels:\n    a: b\n  more: {}": "12:3: Guestbook has no field spec.more",
	} {
		head := "apiVersion: webapp.example.com/v1\nkind: Guestbook\nmetadata:\n  name: a\n  namespace: b\n  labels: " +
			"{}\n\nspec:\n  message: hello\n"
		if err := os.WriteFile(filepath.Join(p.Dir, "config", "samples", "webapp_v1_guestbook.yaml"), []byte(head+fields),
			0o644); err != nil {
			t.Fatal(err)
		}
		again := &doctor.Project{Dir: p.Dir, FS: p.FS, GoVersion: p.GoVersion, Compiled: p.Compiled}
		found, err := doctor.Examine(t.Context(), again, "markers", "samples")
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, f := range found {
			said = append(said, f.Error.Error())
		}
		if got := strings.Join(said, "; "); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", fields, got, want)
		}
	}
}

// TestUnbuilt expects an error if a plan removes an object that a user's patch changes. It expects none for another
// plan, or for a project that did not build before.
func TestUnbuilt(t *testing.T) {
	p := goldenProject(t)
	edit(t, p, "config/default/kustomization.yaml", "resources:", "patches:\n  - path: mine.yaml\nresources:")
	edit(t, p, "config/default/mine.yaml", "", "apiVersion: v1\nkind: Service\nmetadata: {name: "+
		"controller-manager-metrics, namespace: system, labels: {a: b}}\n")
	edit(t, p, "config/default/metrics_service.yaml", "namespace: system", "namespace: system # as in mine.yaml")
	noted := func(old, now string) []*diagnostic.Error {
		planned := plan.New(p.FS)
		text, err := planned.Read("config/default/metrics_service.yaml")
		if err == nil {
			err = planned.Edit("config/default/metrics_service.yaml", []byte(strings.Replace(string(text), old, now, 1)))
		}
		if err != nil {
			t.Fatal(err)
		}
		return doctor.Unbuilt(planned, p.Dir)
	}
	if notes := noted("name: ", "name: mine-"); len(notes) != 1 ||
		!strings.HasPrefix(notes[0].Error(), "config/default/kustomization.yaml:21:5: mine.yaml does not apply "+
			"after this command: no resource matches ") {
		t.Errorf("got %v, want an error of the patch", notes)
	}
	if notes := noted("# as in mine.yaml", ""); len(notes) != 0 {
		t.Errorf("got %v, want none", notes)
	}
	edit(t, p, "config/default/kustomization.yaml", "patches:", "# from https://example.com\npatches:")
	if notes := noted("name: ", "name: mine-"); len(notes) != 1 {
		t.Errorf("got %v, want an error in spite of a comment with a URL", notes)
	}
	edit(t, p, "config/default/kustomization.yaml", "resources:", "resources:\n  - https://example.com")
	if notes := noted("name: ", "name: mine-"); len(notes) != 0 {
		t.Errorf("got %v, although kustomize fetches a resource", notes)
	}
	edit(t, p, "config/default/kustomization.yaml", "  - https://example.com\n", "")
	edit(t, p, "config/default/mine.yaml", "name: ", "name: other-")
	if notes := noted("name: ", "name: mine-"); len(notes) != 0 {
		t.Errorf("got %v of what has not been built before", notes)
	}
}
