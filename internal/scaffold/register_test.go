package scaffold

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
)

const mainWith = `package main

import (
	"os"

	run "github.com/kctrl-dev/kctrl/runtime/manager"
)

func main() { os.Exit(run.Main(SETUP)) }
`

func TestManagerIsGivenRegister(t *testing.T) {
	const options = "run.Options{}"
	tests := []struct {
		name, setup, other string
		want               string // the arguments afterwards, or empty for an error
	}{
		{name: "passed", setup: options + ", register", want: options + ", register"},
		{name: "lost", setup: options, want: options + ", register"},
		{
			name: "called", setup: options + ", func(m *run.Manager) error { return register(m) }",
			want: options + ", func(m *run.Manager) error { return register(m) }",
		},
		{
			name: "called in another file", setup: options + ", setup",
			other: "package main\n\nfunc setup(m *run.Manager) error { return register(m) }\n", want: options + ", setup",
		},
		{name: "replaced", setup: options + ", setup"},
		{name: "only a method of that name", setup: options + ", other.register"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := fstest.MapFS{mainFile: {Data: []byte(strings.Replace(mainWith, "SETUP", test.setup, 1))}}
			if test.other != "" {
				fsys["cmd/setup.go"] = &fstest.MapFile{Data: []byte(test.other)}
			}
			plan := plan.New(fsys)
			err := ensureRegistered(plan)
			if test.want == "" {
				e, ok := err.(*diagnostic.Error)
				if !ok || e.Pos.Line == 0 || !strings.Contains(e.Hint, "register(m)") {
					t.Fatalf("got %v, want an error with a position and the text to write", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := plan.Read(mainFile)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(mainWith, "SETUP", test.want, 1); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestImportNamesAreUnique(t *testing.T) {
	proj := &project.Project{Domain: "example.com", Repo: "example.com/x", Name: "x", MultiGroup: true, Resources: []project.Resource{
		{Group: "foo.policy", Domain: "example.com", Version: "v1", Kind: "A", Plural: "as", API: true, Controller: true},
		{Group: "foo-policy", Domain: "example.com", Version: "v1", Kind: "A", Plural: "as", API: true, Controller: true},
		{Group: "foo-policy", Domain: "example.com", Version: "v1", Kind: "B", Plural: "bs", API: true},
	}}
	view, err := registerView(plan.New(fstest.MapFS{}), proj, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, i := range view.Imports {
		if names[i.Alias] {
			t.Errorf("two imports are named %s: %v", i.Alias, view.Imports)
		}
		names[i.Alias] = true
	}
	if len(view.APIs) != 2 || len(view.Setups) != 2 {
		t.Errorf("got APIs %v and controllers %v", view.APIs, view.Setups)
	}
}

func TestGoHidesInternalPackages(t *testing.T) {
	for folder, want := range map[string]bool{
		"api/v1": true, ".": true, "internal/v1": true, "internal": true, "cmd/internal/v1": true, "internals/v1": true, "a/internal": false,
		"pkg/internal/v1": false, "internal/a/internal/v1": false, "cmd/a/internal/v1": false,
	} {
		if got := (&apiPackage{folder: folder}).importable(); got != want {
			t.Errorf("%s: importable is %v", folder, got)
		}
	}
}
