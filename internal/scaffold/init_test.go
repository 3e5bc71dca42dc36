package scaffold

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/layout"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/scaffold/templated"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestRuntimeOfReleaseIsTheModule(t *testing.T) {
	tests := []struct {
		build project.Build
		want  project.RuntimeMode
	}{
		{project.Build{Version: "v1.2.3", Sum: "h1:x="}, project.Module},
		{project.Build{Version: "v1.2.3-rc.1", Sum: "h1:x="}, project.Module},
		{project.Build{Version: "v1.2.3"}, project.Bundled},
		{project.Build{Version: "v1.2.3+dirty", Sum: "h1:x="}, project.Bundled},
		{project.Build{Version: "v0.0.0-20260102030405-0123456789ab", Sum: "h1:x="}, project.Bundled},
		{project.Build{Version: "(devel)"}, project.Bundled},
		{project.Build{}, project.Bundled},
	}
	for _, test := range tests {
		if got := test.build.DefaultRuntime(); got != test.want {
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
		if got := project.DefaultName(repo); got != want {
			t.Errorf("%s: got %q, want %q", repo, got, want)
		}
	}
}

func TestModuleModeRequiresTheRunningKctrl(t *testing.T) {
	p, err := PlanInit(fstest.MapFS{}, InitOptions{
		Domain: "example.com", Repo: "example.com/guestbook", Kctrl: project.Build{Version: "v1.2.3", Sum: "h1:module="},
	})
	if err != nil {
		t.Fatal(err)
	}
	contains := func(name, want string, is bool) {
		t.Helper()
		content, err := p.Read(name)
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
	for change := range p.Changes() {
		if strings.HasPrefix(change.Path, layout.BundleDir) {
			t.Errorf("%s is written though the runtime is a module", change.Path)
		}
	}
}

func TestBundleHasNoTests(t *testing.T) {
	p, err := PlanInit(fstest.MapFS{}, InitOptions{Domain: "example.com", Repo: "example.com/guestbook"})
	if err != nil {
		t.Fatal(err)
	}
	sources := 0
	for change := range p.Changes() {
		if strings.HasPrefix(change.Path, layout.BundleDir+"/runtime/") {
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
	p, err := PlanInit(fsys, InitOptions{Domain: "example.com", Repo: "example.com/guestbook"})
	if err != nil {
		t.Fatal(err)
	}
	for change := range p.Changes() {
		if _, mine := fsys[change.Path]; mine {
			t.Errorf("%s %s", change.Op, change.Path)
		}
	}
}

func TestMainIsShort(t *testing.T) {
	p, err := PlanInit(fstest.MapFS{}, InitOptions{Domain: "example.com", Repo: "example.com/guestbook",
		Owner: "The Authors"})
	if err != nil {
		t.Fatal(err)
	}
	content, err := p.Read(layout.MainFile)
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(content), "\n"); lines > 40 {
		t.Errorf("%s has %d lines", layout.MainFile, lines)
	}
}

// TestInitSettingsAreReadBack checks that the next command reads any names and owners unchanged from PROJECT.
func TestInitSettingsAreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	owners := []string{
		"A\tB", "A\nB", "A\x00", "*/", "true", "~", "12", "0x1F", "1e3", "null", "- a", "# no", "a: b", "{a}", "[b", "'", `"`,
		`\`, "&a", "*a", "!t", "%", "@",
		" padded ", "\u0085", "\u2028", "\u200d", "\ufeff", "\ufeffA", "\ufffe", "\xff", "a\xc0", "\U0001f600", "{{.Owner}}",
		"YEAR", "//", "`", "é", "e\u0301", "...", "---",
	}
	names := []string{"guestbook", "on", "1", "1e3", "0x1", "a", "null", "true", "a-b", "12.5", "k8s", "example.com", "A",
		"_", "v2", "~"}
	pick := func(list []string) string {
		s := list[r.IntN(len(list))]
		for r.IntN(3) == 0 {
			s += list[r.IntN(len(list))]
		}
		return s
	}
	accepted, refused := 0, 0
	for i := range 4000 {
		opts := InitOptions{Domain: pick(names), Repo: "example.com/" + pick(names), Owner: pick(owners), Year: 2026,
			Kctrl: project.Build{Version: "v1.2.3", Sum: "h1:x="}}
		switch {
		case i < len(owners):
			opts.Domain, opts.Repo, opts.Owner = "example.com", "example.com/guestbook", owners[i]
		case i%3 == 0:
			opts.ProjectName = pick(names)
			opts.Repo = pick(names) + "/" + pick(names)
		case i%3 == 1:
			opts.Owner = randomText(r)
		}
		root := afero.NewMemMapFs()
		p, err := PlanInit(afero.NewIOFS(root), opts)
		if err != nil {
			for _, single := range diagnostic.All(err) {
				if e, ok := errors.AsType[*diagnostic.Error](single); !ok || e.Hint == "" {
					t.Errorf("%+v: %v has no hint", opts, single)
				}
			}
			refused++
			continue
		}
		accepted++
		for change := range p.Changes() {
			must(t, afero.WriteFile(root, change.Path, change.After, 0o644))
		}
		proj, err := project.Load(afero.NewIOFS(root))
		if err != nil {
			t.Errorf("init accepts %+v, and the next command says %v", opts, err)
			continue
		}
		if proj.Owner != opts.Owner || proj.Domain != opts.Domain || proj.Repo != opts.Repo || proj.Kctrl != "v1.2.3" {
			t.Errorf("init was given %+v, and PROJECT says %+v", opts, proj)
		}
		if _, err := templated.GoHeader(plan.New(afero.NewIOFS(root))); err != nil {
			t.Errorf("the header with the owner %q: %v", opts.Owner, err)
		}
	}
	if accepted < 400 || refused < 400 {
		t.Errorf("%d accepted and %d refused tell little", accepted, refused)
	}
}

// randomText returns random characters of all kinds.
func randomText(r *rand.Rand) string {
	var text []byte
	for range r.IntN(6) {
		switch r.IntN(4) {
		case 0:
			text = append(text, byte(r.IntN(256)))
		case 1:
			text = utf8.AppendRune(text, rune(r.IntN(0x110000)))
		default:
			text = append(text, byte(' '+r.IntN(95)))
		}
	}
	return string(text)
}

func TestProjectRecordsTheVersionOfKctrl(t *testing.T) {
	for build, want := range map[project.Build][2]string{
		{}:                   {"devel", ""},
		{Version: "(devel)"}: {"devel", ""},
		{Version: "v1.2.3"}:  {"v1.2.3", "v1.2.3"},
		{Version: "v0.0.0-20260102030405-0123456789ab", Sum: "h1:x="}: {"v0.0.0-20260102030405-0123456789ab",
			"v0.0.0-20260102030405-0123456789ab"},
		{Version: "v0.0.0-20260102030405-0123456789ab"}: {"v0.0.0-20260102030405-0123456789ab", ""},
		{Version: "v1.2.3+dirty"}:                       {"v1.2.3+dirty", ""},
	} {
		p, err := PlanInit(fstest.MapFS{}, InitOptions{Domain: "example.com", Repo: "example.com/guestbook", Kctrl: build,
			Runtime: project.Bundled})
		must(t, err)
		text, err := p.Read(project.File)
		must(t, err)
		if !strings.Contains(string(text), "\nkctrl: "+want[0]+"\n") {
			t.Errorf("%+v: want kctrl: %s in\n%s", build, want[0], text)
		}
		workflow, err := p.Read(".github/workflows/test.yml")
		must(t, err)
		switch {
		case strings.Contains(string(workflow), "latest"):
			t.Errorf("%+v: CI installs whatever is the latest", build)
		case want[1] == "" && !strings.Contains(string(workflow), "${{ vars.KCTRL_VERSION }}"):
			t.Errorf("%+v: CI does not ask for a version:\n%s", build, workflow)
		case want[1] != "" && !strings.Contains(string(workflow), "cmd/kctrl@"+want[1]+"\n"):
			t.Errorf("%+v: CI does not install %s:\n%s", build, want[1], workflow)
		}
	}
}
