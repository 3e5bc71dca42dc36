package generate_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/generate"
	"github.com/kctrl-dev/kctrl/internal/scaffold/plan"
)

// goCalls puts a go command in PATH that counts its calls, and returns how many there were.
func goCalls(t *testing.T) func() int {
	t.Helper()
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := exec.CommandContext(t.Context(), command, "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script := fmt.Sprintf("#!/bin/sh\necho call >>'%s'\nexec '%s' \"$@\"\n", log, command)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOROOT", strings.TrimSpace(string(root)))
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() int {
		calls, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(calls), "\n")
	}
}

// planned runs all generators without writing.
func planned(t *testing.T, dir string, o generate.Options) error {
	t.Helper()
	return generate.Run(t.Context(), dir, plan.New(os.DirFS(dir)), nil, o)
}

// TestListedPackagesAreAskedForOnce makes changes that the go command could see, in projects whose packages it lists.
func TestListedPackagesAreAskedForOnce(t *testing.T) {
	calls := goCalls(t)
	for name, test := range map[string]struct {
		change  func(t *testing.T, dir string)
		nothing bool // the change means nothing
		fails   bool // the change is a mistake
	}{
		"nothing":        {nothing: true, change: func(*testing.T, string) {}},
		"a test":         {nothing: true, change: func(t *testing.T, dir string) { write(t, dir, "units/units_test.go", "package units\n") }},
		"generated code": {nothing: true, change: func(t *testing.T, dir string) { remove(t, dir, "api/v1/zz_generated.deepcopy.go") }},
		"a type":         {change: func(t *testing.T, dir string) { edit(t, dir, "units/units.go", "string", "int") }},
		"a file":         {change: func(t *testing.T, dir string) { write(t, dir, "units/more.go", "package units\n") }},
		"a constraint": {change: func(t *testing.T, dir string) {
			edit(t, dir, "units/units.go", "package", "//go:build !none\n\npackage")
		}},
		"a type of another module":   {change: func(t *testing.T, dir string) { edit(t, dir, "../shared/shared.go", "Minimum=1", "Minimum=2") }},
		"a file of another module":   {change: func(t *testing.T, dir string) { write(t, dir, "../shared/more.go", "package shared\n") }},
		"go.mod of another module":   {change: func(t *testing.T, dir string) { edit(t, dir, "../shared/go.mod", "1.26", "1.25") }},
		"another module that is not": {fails: true, change: func(t *testing.T, dir string) { remove(t, dir, "../shared/go.mod") }},
		"go.mod":                     {change: func(t *testing.T, dir string) { edit(t, dir, "go.mod", "module", "// Ours.\nmodule") }},
		"go.sum":                     {change: func(t *testing.T, dir string) { write(t, dir, "go.sum", read(t, dir, "go.sum")+"\n") }},
		"go.work":                    {change: func(t *testing.T, dir string) { write(t, dir, "../go.work", "go 1.26.0\n\nuse ./cached\n") }},
		"a module in the project":    {fails: true, change: func(t *testing.T, dir string) { write(t, dir, "units/go.mod", "module example.com/units\n") }},
		"GOFLAGS":                    {change: func(t *testing.T, _ string) { t.Setenv("GOFLAGS", "-trimpath") }},
		"GOOS":                       {change: func(t *testing.T, _ string) { t.Setenv("GOOS", "plan9") }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOFIPS140", asksGo)
			dir := cachedProject(t)
			o := everything()
			o.Cache.Dir = filepath.Join(t.TempDir(), "cache")
			if name == "generated code" {
				cachedRun(t, dir, o)
			}
			if err := planned(t, dir, o); err != nil {
				t.Fatal(err)
			}
			before := calls()
			if err := planned(t, dir, o); err != nil || calls() != before {
				t.Fatalf("before the change: %d calls, %v", calls()-before, err)
			}
			test.change(t, dir)
			err := planned(t, dir, o)
			if (err != nil) != test.fails {
				t.Errorf("after the change: %v", err)
			}
			if called := calls() != before; called == test.nothing {
				t.Errorf("after the change: called %v, want %v", called, !test.nothing)
			}
		})
	}
}

// TestWhatTheGoCommandLooksAtMayBeUnknown has projects in which it is not known when packages change.
func TestWhatTheGoCommandLooksAtMayBeUnknown(t *testing.T) {
	calls := goCalls(t)
	for name, prepare := range map[string]func(t *testing.T, dir string){
		"a driver": func(t *testing.T, _ string) {
			driver := filepath.Join(t.TempDir(), "driver")
			if err := os.WriteFile(driver, []byte("#!/bin/sh\ngo version >/dev/null\necho '{\"NotHandled\":true}'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOPACKAGESDRIVER", driver)
		},
		"flags that say where files are": func(t *testing.T, dir string) {
			write(t, dir, "../overlay.json", "{}")
			t.Setenv("GOFLAGS", "-overlay="+filepath.Join(filepath.Dir(dir), "overlay.json"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOFIPS140", asksGo)
			dir := cachedProject(t)
			prepare(t, dir)
			o := everything()
			o.Cache.Dir = filepath.Join(t.TempDir(), "cache")
			for range 2 {
				before := calls()
				if err := planned(t, dir, o); err != nil {
					t.Fatal(err)
				}
				if calls() == before {
					t.Error("the go command was not called")
				}
			}
		})
	}
}
