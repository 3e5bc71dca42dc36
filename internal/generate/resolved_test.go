package generate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asksGo is a version of a FIPS 140 module. With this setting kctrl lets the go command list packages; it has no other
// effect here.
const asksGo = "v1.0.0"

// TestResolvedPackagesGiveTheSame compares the files generated from packages that kctrl found itself with those from
// packages that the go command listed.
func TestResolvedPackagesGiveTheSame(t *testing.T) {
	dirs, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range dirs {
		name := folder.Name()
		if _, err := os.Stat(filepath.Join("testdata", name, "api")); err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := project(t, name)
			t.Setenv("GOFIPS140", asksGo)
			listed := run(t, dir, everything())
			t.Setenv("GOFIPS140", "")
			if len(listed) == 0 {
				t.Fatal("nothing was generated")
			}
			if diff := cmp.Diff(listed, run(t, dir, everything())); diff != "" {
				t.Errorf("the files differ (-listed +resolved):\n%s", diff)
			}
		})
	}
}

// TestGoCommandIsNotRun replaces the go command with a program that fails.
func TestGoCommandIsNotRun(t *testing.T) {
	dir := project(t, "scaffold")
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	called := filepath.Join(bin, "called")
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\n>"+called+"\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOROOT", strings.TrimSpace(string(root)))
	t.Setenv("PATH", bin)
	if got := run(t, dir, everything()); len(got) != 3 {
		t.Errorf("%d files, want 3", len(got))
	}
	if _, err := os.Stat(called); err == nil {
		t.Error("the go command was called")
	}
}
