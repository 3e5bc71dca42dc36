package corpus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestProjectsAreComplete(t *testing.T) {
	names := map[string]bool{}
	for _, p := range Projects() {
		if names[p.Name] {
			t.Errorf("%s occurs twice", p.Name)
		}
		names[p.Name] = true
		if len(p.Modules) == 0 || p.Modules[0].Dir != "" || p.Edited.File == "" || p.Edited.Name == "" {
			t.Errorf("%s has no module at its root, or no type to edit", p.Name)
		}
		for _, call := range slices.Concat(p.Calls(), p.More) {
			if len(paths(call)) == 0 || len(paths(call)) == len(call) {
				t.Errorf("%s: no paths, or only paths: %v", p.Name, call)
			}
		}
	}
}

func TestCallsOverTheSamePackagesMerge(t *testing.T) {
	p := Project{Object: args("object paths=./a paths=./b"), Manifests: args("crd paths=./a paths=./b output:crd:dir=out")}
	once, ok := p.Once()
	if want := args("crd paths=./a paths=./b output:crd:dir=out object"); !ok || !slices.Equal(once, want) {
		t.Errorf("got %v, %v, want %v", once, ok, want)
	}
	p.Manifests = args("crd paths=./a")
	if once, ok := p.Once(); ok {
		t.Errorf("calls over different packages merge to %v", once)
	}
	p.Manifests = args("crd paths=./a paths=./b output:dir=out")
	if once, ok := p.Once(); ok {
		t.Errorf("calls that write to other directories merge to %v", once)
	}
}

func TestWrittenReturnsFilesChangedAfterTheCopy(t *testing.T) {
	source, dir := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	write(t, filepath.Join(source, "api", "types.go"), "package api\n")
	if err := copyTree(dir, source); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "api", "zz.go"), "package api\n")
	written, err := Written(dir)
	if err != nil || len(written) != 1 || written["api/zz.go"] != "package api\n" {
		t.Fatalf("got %v, %v", written, err)
	}
	if err := Accept(dir, "api/zz.go"); err != nil {
		t.Fatal(err)
	}
	if written, err := Written(dir); err != nil || len(written) != 0 {
		t.Errorf("an accepted file counts as written: %v, %v", written, err)
	}
}

func TestRunMeasuresFailedRuns(t *testing.T) {
	tool := Tool{Name: "shell", Path: "/bin/sh", Verb: []string{"-c"}}
	usage, output, err := tool.Run(context.Background(), t.TempDir(), []string{"echo out; echo err >&2; exit 3"})
	failed, ok := errors.AsType[*Failed](err)
	if !ok || failed.Code != 3 || failed.Error() != "shell: exit code 3: err" {
		t.Errorf("error is %v", err)
	}
	if output.Stdout != "out\n" || usage.Wall <= 0 || usage.RSS < 1<<16 {
		t.Errorf("got %+v, %+v", output, usage)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
