package scaffold

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestRuntimeOfReleaseIsTheModule(t *testing.T) {
	tests := []struct {
		build Build
		want  RuntimeMode
	}{
		{Build{Version: "v1.2.3", Sum: "h1:x="}, Module},
		{Build{Version: "v1.2.3-rc.1", Sum: "h1:x="}, Module},
		{Build{Version: "v1.2.3"}, Bundled},
		{Build{Version: "v1.2.3+dirty", Sum: "h1:x="}, Bundled},
		{Build{Version: "v0.0.0-20260102030405-0123456789ab", Sum: "h1:x="}, Bundled},
		{Build{Version: "(devel)"}, Bundled},
		{Build{}, Bundled},
	}
	for _, test := range tests {
		if got := test.build.defaultRuntime(); got != test.want {
			t.Errorf("%+v: got %s, want %s", test.build, got, test.want)
		}
	}
}

func TestProjectNameComesFromTheModulePath(t *testing.T) {
	for repo, want := range map[string]string{
		"example.com/guestbook":        "guestbook",
		"example.com/guestbook/v2":     "guestbook",
		"example.com/team/Guest_Book":  "guest-book",
		"guestbook":                    "guestbook",
		"example.com":                  "example-com",
		"github.com/kctrl-dev/v1alpha": "v1alpha",
	} {
		if got := defaultProjectName(repo); got != want {
			t.Errorf("%s: got %q, want %q", repo, got, want)
		}
	}
}

func TestModuleModeRequiresTheRunningKctrl(t *testing.T) {
	plan, err := PlanInit(fstest.MapFS{}, InitOptions{
		Domain: "example.com", Repo: "example.com/guestbook", Kctrl: Build{Version: "v1.2.3", Sum: "h1:module="},
	})
	if err != nil {
		t.Fatal(err)
	}
	contains := func(name, want string, is bool) {
		t.Helper()
		content, err := plan.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), want) != is {
			t.Errorf("%s contains %q is %v:\n%s", name, want, !is, content)
		}
	}
	contains("go.mod", "github.com/kctrl-dev/kctrl v1.2.3\n", true)
	contains("go.mod", "replace", false)
	contains("go.sum", "github.com/kctrl-dev/kctrl v1.2.3 h1:module=\ngithub.com/kctrl-dev/kctrl v1.2.3/go.mod h1:", true)
	contains("Dockerfile", "third_party", false)
	contains(".github/workflows/test.yml", "cmd/kctrl@v1.2.3\n", true)
	contains("PROJECT", "runtime: module\n", true)
	for change := range plan.Changes() {
		if strings.HasPrefix(change.Path, bundleFolder) {
			t.Errorf("%s is written though the runtime is a module", change.Path)
		}
	}
}

func TestBundleHasNoTests(t *testing.T) {
	plan, err := PlanInit(fstest.MapFS{}, InitOptions{Domain: "example.com", Repo: "example.com/guestbook"})
	if err != nil {
		t.Fatal(err)
	}
	sources := 0
	for change := range plan.Changes() {
		if strings.HasPrefix(change.Path, bundleFolder+"/runtime/") {
			sources++
		}
		if strings.HasSuffix(change.Path, "_test.go") || strings.Contains(change.Path, "testdata") {
			t.Errorf("%s is bundled", change.Path)
		}
	}
	if sources == 0 {
		t.Error("the runtime is not bundled")
	}
}

func TestInitKeepsWhatIsTheUsers(t *testing.T) {
	fsys := fstest.MapFS{
		"README.md":     {Data: []byte("mine\n")},
		".gitignore":    {Data: []byte("mine\n")},
		"LICENSE":       {Data: []byte("mine\n")},
		"LICENSE.txt":   {Data: []byte("mine\n")},
		".git/config":   {Data: []byte("mine\n")},
		".editorconfig": {Data: []byte("mine\n")},
	}
	plan, err := PlanInit(fsys, InitOptions{Domain: "example.com", Repo: "example.com/guestbook"})
	if err != nil {
		t.Fatal(err)
	}
	for change := range plan.Changes() {
		if _, mine := fsys[change.Path]; mine {
			t.Errorf("%s %s", change.Op, change.Path)
		}
	}
}

func TestMainIsShort(t *testing.T) {
	plan, err := PlanInit(fstest.MapFS{}, InitOptions{Domain: "example.com", Repo: "example.com/guestbook", Owner: "The Authors"})
	if err != nil {
		t.Fatal(err)
	}
	content, err := plan.Read(mainFile)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(content), "\n"); lines > 40 {
		t.Errorf("%s has %d lines", mainFile, lines)
	}
}
