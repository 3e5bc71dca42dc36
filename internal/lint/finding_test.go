package lint

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/testing/module"
)

var update = flag.Bool("update", false, "rewrite the expected findings in testdata/findings")

// TestFindings checks the packages in testdata/findings and compares the findings with the section "want". Each line
// has a finding with its code; its hint and the result of --fix follow. "warning" marks findings that do not fail a
// run.
func TestFindings(t *testing.T) {
	archives, err := filepath.Glob("testdata/findings/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no test data", err)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { testFindings(t, name) })
	}
}

func testFindings(t *testing.T, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := module.Write(t, archive)
	program, err := load.Load(t.Context(), load.Config{Dir: dir, Lenient: true})
	if program == nil {
		t.Fatal(err)
	}
	findings, _ := Check(program, Config{Lenient: true})
	var got strings.Builder
	for _, f := range findings {
		severity := "error"
		if !f.Fatal {
			severity = "warning"
		}
		fmt.Fprintf(&got, "%v [%s, %s]\n", f.Error, f.Code, severity)
		if f.Hint != "" {
			fmt.Fprintf(&got, "hint: %s\n", f.Hint)
		}
		if f.Fix != nil {
			fmt.Fprintf(&got, "fix: %s\n", f.Fix.Text)
		}
	}
	want := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "want" })
	if *update {
		archive.Files[want].Data = []byte(got.String())
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(archive.Files[want].Data), got.String()); diff != "" {
		t.Errorf("findings differ (-want +got):\n%s", diff)
	}
}

// TestStrictRunsFailOnWhatReachesOutput checks a project with one mistake in a type that generators use and one in a
// type that they do not use.
func TestStrictRunsFailOnWhatReachesOutput(t *testing.T) {
	dir := module.Write(t, txtar.Parse([]byte(`
-- api/types.go --
// +groupName=example.com
package api

type Thing struct {
	TypeMeta
	ObjectMeta
	// +kubebuilder:validation:Minmum=1
	Size int `+"`json:\"size\"`"+`
}
-- other/types.go --
package other

type Unused struct {
	// +kubebuilder:validation:Minmum=1
	Size int `+"`json:\"size\"`"+`
}
`)))
	var warned []string
	program, err := load.Load(t.Context(), load.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Warn: func(f Finding) { warned = append(warned, f.Error.Error()) }}
	_, err = Check(program, config)
	if want := `api/types.go:7:5: unknown marker "+kubebuilder:validation:Minmum"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if diff := cmp.Diff([]string{`other/types.go:4:5: unknown marker "+kubebuilder:validation:Minmum"`},
		warned); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
	warned, config.Lenient = nil, true
	if _, err := Check(program, config); err != nil || len(warned) != 2 {
		t.Errorf("lenient: got %v and warnings %q, want no error and two warnings", err, warned)
	}
}
