package generate_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	proj "github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// project copies testdata/name into a temporary directory and makes it the module example.com/name, with the
// requirements of this module.
func project(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	addModule(t, dir, "example.com/"+name)
	return dir
}

func addModule(t testing.TB, dir, path string) {
	t.Helper()
	oracle.Module(t, dir, path)
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	oracle.Write(t, dir, name, content)
}

// outputs returns the files of a plan, without the lock.
func outputs(p *plan.Plan) map[string]string {
	files := map[string]string{}
	for change := range p.Changes() {
		if change.Path != proj.LockFile && change.Op != plan.Delete {
			files[change.Path] = string(change.After)
		}
	}
	return files
}

// run generates in dir and returns the files of the plan.
func run(t *testing.T, dir string, o generate.Options) map[string]string {
	t.Helper()
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, o); err != nil {
		t.Fatal(err)
	}
	return outputs(p)
}

// everything selects all generators.
func everything() generate.Options {
	return generate.Options{Generators: []string{generate.Object, generate.CRD, generate.RBAC}}
}

// setFlag sets an option like the flag of that name. Generators must not change afterwards.
func setFlag[T any](t *testing.T, o *generate.Options, name string, value T) {
	t.Helper()
	for _, flag := range o.Flags() {
		if to, ok := flag.To.(*T); ok && flag.Name == name {
			*to = value
			return
		}
	}
	t.Fatalf("no flag %s", name)
}

// TestMain runs the tests and fails if a recording of controller-gen is unused.
func TestMain(m *testing.M) { os.Exit(oracle.Main(m)) }

// runPeer runs controller-gen in dir and returns its files.
func runPeer(t *testing.T, dir string, args ...string) map[string]string {
	t.Helper()
	args = append(args, "paths=./...")
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "crd") }) {
		args = append(args, "output:crd:artifacts:config=config/crd/bases")
	}
	return peerOutput(t, oracle.Command{Dir: dir, Args: args})
}

// peerOutput returns the files of a run of controller-gen, which must succeed.
func peerOutput(t *testing.T, c oracle.Command) map[string]string {
	t.Helper()
	result := oracle.Run(t, c)
	if result.Failed {
		t.Fatalf("controller-gen %s:\n%s", strings.Join(c.Args, " "), result.Stderr)
	}
	return result.Files
}

func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	return oracle.Files(t, dir)
}

func TestOutputIsThatOfControllerGen(t *testing.T) {
	tests := []struct {
		project string
		args    []string
		options func(*generate.Options)
	}{
		{"scaffold", []string{"object:headerFile=hack/boilerplate.go.txt,year=2026", "rbac:roleName=manager-role", "crd",
			"webhook"}, func(o *generate.Options) { o.Year = "2026" }},
		{"scaffold", []string{"crd:maxDescLen=0", "rbac:roleName=guest"}, func(o *generate.Options) {
			o.Generators = []string{generate.CRD, generate.RBAC}
			setFlag(t, o, "crd-max-desc-len", new(int))
			setFlag(t, o, "role-name", "guest")
		}},
		{"fields", []string{"object", "crd"}, nil},
		{"fields", []string{"crd:maxDescLen=40"}, func(o *generate.Options) {
			length := 40
			o.Generators = []string{generate.CRD, generate.RBAC}
			setFlag(t, o, "crd-max-desc-len", &length)
		}},
		{"versions", []string{"object:headerFile=hack/boilerplate.go.txt", "crd", "rbac:roleName=manager-role"}, nil},
		{"rules", []string{"object", "crd", "rbac:roleName=manager-role"}, nil},
		{"kinds", []string{"object", "crd", "rbac:roleName=manager-role"}, nil},
	}
	for _, test := range tests {
		t.Run(test.project+" "+strings.Join(test.args, " "), func(t *testing.T) {
			t.Parallel()
			dir := project(t, test.project)
			o := everything()
			if test.options != nil {
				test.options(&o)
			}
			got := run(t, dir, o)
			want := runPeer(t, dir, test.args...)
			if len(want) == 0 {
				t.Fatal("controller-gen wrote nothing")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output differs (-controller-gen +kctrl):\n%s", diff)
			}
		})
	}
}

// TestOutputIsTheSameInEveryRun checks types for which the output of controller-gen varies in about a third of the
// runs.
func TestOutputIsTheSameInEveryRun(t *testing.T) {
	dir := project(t, "order")
	onlyCRD := generate.Options{Generators: []string{generate.CRD}}
	want := run(t, dir, onlyCRD)
	rules := want["config/crd/bases/order.example.com_things.yaml"]
	first, second := strings.Index(rules, "self == oldSelf"), strings.Index(rules, "self != 'a'")
	if first < 0 || second < first {
		t.Errorf("rules are not in the order of marker names:\n%s", rules)
	}
	for range 20 {
		if diff := cmp.Diff(want, run(t, dir, onlyCRD)); diff != "" {
			t.Fatalf("another run differs:\n%s", diff)
		}
	}
}

func TestPlannedFilesCountAsWritten(t *testing.T) {
	written := project(t, "scaffold")
	want := run(t, written, everything())

	planned := t.TempDir()
	addModule(t, planned, "example.com/scaffold")
	// A file that the plan deletes is no longer part of its package.
	write(t, planned, "api/v1/old_types.go", "package v1\n\ntype GuestbookSpec struct{}\n")
	p := plan.New(os.DirFS(planned))
	var sources []string
	for name, content := range files(t, "testdata/scaffold") {
		sources = append(sources, name)
		if err := p.Write(name, []byte(content), "test"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Delete("api/v1/old_types.go"); err != nil {
		t.Fatal(err)
	}
	if err := generate.Run(t.Context(), planned, p, nil, everything()); err != nil {
		t.Fatal(err)
	}
	got := outputs(p)
	for _, name := range sources {
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output for planned files differs (-on disk +planned):\n%s", diff)
	}
	if entries, _ := os.ReadDir(planned); len(entries) != 3 {
		t.Errorf("something was written: %v", entries)
	}
}

func TestGeneratedFilesAreNoInput(t *testing.T) {
	dir := project(t, "scaffold")
	p := plan.New(os.DirFS(dir))
	if err := generate.Run(t.Context(), dir, p, nil, everything()); err != nil {
		t.Fatal(err)
	}
	apply(t, dir, p)
	if again := run(t, dir, everything()); len(again) != 0 {
		t.Errorf("a second run changes %v", again)
	}
}

func apply(t *testing.T, dir string, p *plan.Plan) {
	t.Helper()
	root, err := transaction.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := p.Apply(t.Context(), root, "test"); err != nil {
		t.Fatal(err)
	}
}
