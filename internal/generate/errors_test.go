package generate_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
	"github.com/kctrl-dev/kctrl/internal/testing/module"
)

var update = flag.Bool("update", false, "rewrite the expected errors and schemas in testdata")

// TestErrors runs the generators on the broken projects in testdata/errors and compares the findings with the section
// "want": one finding per line, with its hint below. The test writes a go.mod unless the project has one, or a section
// "nomodule".
func TestErrors(t *testing.T) {
	archives, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no test data", err)
	}
	name, off, _ := strings.Cut(module.Offline(t), "=")
	t.Setenv(name, off)
	t.Setenv("GOTOOLCHAIN", "local")
	t.Setenv("GOFLAGS", "")
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { testErrors(t, name) })
	}
}

func testErrors(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := everything()
	own := false
	for _, f := range archive.Files {
		switch f.Name {
		case "want":
		case "flags":
			setFlags(t, &o, string(f.Data))
		case "nomodule":
			own = true
		default:
			own = own || f.Name == "go.mod"
			write(t, dir, f.Name, string(f.Data))
		}
	}
	if !own {
		addModule(t, dir, "example.com/errors")
	}
	p := plan.New(os.DirFS(dir))
	got := report(generate.Run(t.Context(), dir, p, nil, o))
	if got != "" && p.Len() > 0 {
		t.Errorf("the plan has %d changes in spite of the errors", p.Len())
	}
	want := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	if *update {
		archive.Files[want].Data = []byte(got)
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(archive.Files[want].Data), got); diff != "" {
		t.Errorf("errors differ (-want +got):\n%s", diff)
	}
}

func setFlags(t *testing.T, o *generate.Options, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "paths":
			o.Paths = append(o.Paths, value)
		case "allow-unknown":
			o.AllowUnknown = append(o.AllowUnknown, value)
		case "header-file":
			o.HeaderFile = value
		default:
			t.Fatalf("unknown flag %q", name)
		}
	}
}

// report formats errors as kctrl prints them.
func report(err error) string {
	var out strings.Builder
	for _, e := range diagnostic.All(err) {
		fmt.Fprintln(&out, e)
		if d, ok := errors.AsType[*diagnostic.Error](e); !ok {
			fmt.Fprintf(&out, "not a diagnostic: %T\n", e)
		} else if d.Hint != "" {
			fmt.Fprintln(&out, "hint:", d.Hint)
		}
	}
	return runningGo.ReplaceAllString(out.String(), "running go VERSION")
}

var runningGo = regexp.MustCompile(`running go [0-9.]+`)

func TestNoGoCommand(t *testing.T) {
	dir := project(t, "scaffold")
	t.Setenv("PATH", t.TempDir())
	err := generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, everything())
	want := "go command not found\nhint: install Go from https://go.dev/dl, or add its bin directory to PATH\n"
	if got := report(err); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRulesNeedNoGoCommand(t *testing.T) {
	dir := project(t, "scaffold")
	t.Setenv("PATH", t.TempDir())
	if got := run(t, dir, generate.Options{Generators: []string{generate.RBAC}}); len(got) != 1 {
		t.Errorf("got %v, want only the role", got)
	}
}
