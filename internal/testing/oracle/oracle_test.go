package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// observed is a test that records failures.
type observed struct {
	testing.TB
	failures string
}

func (o *observed) Helper() {}

func (o *observed) Errorf(format string, args ...any) { o.failures += fmt.Sprintf(format, args...) }

func (o *observed) Fatalf(format string, args ...any) {
	o.Errorf(format, args...)
	runtime.Goexit()
}

// observe returns the failures that a function reports to its test.
func observe(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	o, ended := &observed{TB: t}, make(chan struct{})
	go func() {
		defer close(ended)
		f(o)
	}()
	<-ended
	return o.failures
}

// fake replaces controller-gen with a script and changes to a working directory without recordings. It returns a
// command whose input is one module.
func fake(t *testing.T, script string) Command {
	t.Helper()
	program := filepath.Join(t.TempDir(), "controller-gen")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	real := build
	build = func() (string, error) { return program, nil }
	t.Cleanup(func() { build = real })
	t.Chdir(t.TempDir())
	dir := t.TempDir()
	Write(t, dir, "go.mod", "module example.com/m\n\nrequire k8s.io/api v0.37.0\n")
	Write(t, dir, "api/types.go", "package api\n")
	return Command{Dir: dir, Args: []string{"object", "paths=./..."}}
}

// record records the result of the fake controller-gen, and returns the name of the recording. It does not change the
// input.
func record(t *testing.T, c Command) string {
	t.Helper()
	name := c.recording(t, c.Dir)
	t.Setenv(Variable, "record")
	Run(t, c)
	t.Setenv(Variable, "")
	removeOutput(t, c)
	return name
}

func removeOutput(t *testing.T, c Command) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(c.Dir, "out")); err != nil {
		t.Fatal(err)
	}
}

const writes = "mkdir -p out; echo \"$@\" > out/args; echo printed; echo wrong >&2; exit 1\n"

func TestRecordingsAreReplayed(t *testing.T) {
	c := fake(t, writes)
	record(t, c)
	build = func() (string, error) { t.Error("controller-gen ran"); return "", nil }
	got := Run(t, c)
	if got.Stdout != "printed\n" || got.Stderr != "wrong\n" || !got.Failed || len(got.Files) != 1 {
		t.Errorf("got %+v", got)
	}
	if file := Files(t, c.Dir)["out/args"]; file != "object paths=./...\n" {
		t.Errorf("the file has %q", file)
	}
}

func TestLargeRecordingsAreCompressed(t *testing.T) {
	c := fake(t, "mkdir out; head -c 100000 /dev/zero | tr '\\0' a > out/large; echo >> out/large\n")
	name := record(t, c)
	if info, err := os.Stat(name + compressed); err != nil || info.Size() > readable {
		t.Errorf("it has %v, %v", info, err)
	}
	if got := Run(t, c).Files["out/large"]; len(got) != 100001 {
		t.Errorf("replayed are %d bytes", len(got))
	}
}

func TestInputsWithoutARecordingFail(t *testing.T) {
	c := fake(t, writes)
	record(t, c)
	Write(t, c.Dir, "api/types.go", "package api // changed\n")
	got := observe(t, func(t testing.TB) { Run(t, c) })
	if !strings.Contains(got, "no recording of controller-gen for this input") ||
		!strings.Contains(got, "KCTRL_TEST_ORACLE=record go test") {
		t.Errorf("reported %q", got)
	}
}

func TestForgedRecordingsFail(t *testing.T) {
	c := fake(t, writes)
	name := record(t, c)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(Variable, "run")
	for _, forgery := range [][2]string{
		{"", ""}, {"printed", "other"}, {"wrong", "other"}, {"out/args --\nobject", "out/args --\nother"},
		{"out/args", "out/other"}, {failed, ""},
	} {
		Write(t, ".", name, strings.Replace(string(text), forgery[0], forgery[1], 1))
		want := forgery[0] != ""
		if got := observe(t, func(t testing.TB) { Run(t, c) }); strings.Contains(got,
			"is not what controller-gen does") != want {
			t.Errorf("with %q in place of %q it reported %q, want a report: %t", forgery[1], forgery[0], got, want)
		}
		removeOutput(t, c)
	}
}

func TestNamesOfRecordingsFollowFromTheInput(t *testing.T) {
	c := fake(t, writes)
	before := c.recording(t, c.Dir)
	for _, change := range []struct {
		name  string
		other bool
		of    func(c *Command)
	}{
		{"an argument", true, func(c *Command) { c.Args = append(c.Args, "crd") }},
		{"a setting", true, func(c *Command) { c.Env = []string{"CGO_ENABLED=1"} }},
		{"arguments in one", true, func(c *Command) { c.Args = []string{strings.Join(c.Args, " ")} }},
		{"the directory", true, func(c *Command) { c.Dir = filepath.Join(c.Dir, "api") }},
		{"a file", true, func(c *Command) { Write(t, c.Dir, "api/more.go", "package api\n") }},
		{"a requirement of Kubernetes", true, func(c *Command) {
			Write(t, c.Dir, "go.mod",
				"module example.com/m\n\nrequire k8s.io/api v0.37.1\n")
		}},
		{"another requirement", false, func(c *Command) {
			Write(t, c.Dir, "go.mod", "module example.com/m\n\nrequire (\n\tk8s.io/api v0.37.0\n\tgithub.com/spf13/cobra "+
				"v1.10.0\n)\n")
		}},
		{"go.sum", false, func(c *Command) { Write(t, c.Dir, "go.sum", "x\n") }},
	} {
		changed := c
		changed.Dir = t.TempDir()
		if err := os.CopyFS(changed.Dir, os.DirFS(c.Dir)); err != nil {
			t.Fatal(err)
		}
		root := changed.Dir
		change.of(&changed)
		if after := changed.recording(t, root); (after != before) != change.other {
			t.Errorf("%s: the name changes: %v, want %v", change.name, after != before, change.other)
		}
	}
}

func TestUnusedRecordingsFail(t *testing.T) {
	c := fake(t, writes)
	name := record(t, c)
	if err := unused(); err != nil {
		t.Errorf("a recording that was used: %v", err)
	}
	stale := filepath.Join(filepath.Dir(name), "0123456789abcdef.txtar"+compressed)
	Write(t, ".", stale, "")
	if err := unused(); err == nil || !strings.Contains(err.Error(), stale) {
		t.Errorf("a recording that was not used: %v", err)
	}
	t.Setenv(Variable, "record")
	if err := unused(); err != nil {
		t.Error(err)
	}
	if left := Files(t, directory); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
}

func TestRecordingsHaveTheCurrentYear(t *testing.T) {
	c := fake(t, "echo of $(date +%Y) and "+thisYear()+"\n")
	c.Dated = true
	name := record(t, c)
	if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), "of $YEAR and $YEAR\n") {
		t.Errorf("%v\n%s", err, text)
	}
	if got := Run(t, c).Stdout; got != "of "+thisYear()+" and "+thisYear()+"\n" {
		t.Errorf("replayed is %q", got)
	}
}
