//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"
)

// layout describes a project that tests copy. Starting from another layout, it adds files, modules and the results of
// commands, in this order.
type layout struct {
	from    string            // another layout, or "" for an empty directory
	fixture string            // archive in testdata/fixture
	modules map[string]string // paths of modules that require controller-runtime, by directory
	lines   []string          // command lines
}

var guestbookModule = map[string]string{".": "example.com/guestbook"}

// layouts are the projects that tests share, by name.
var layouts = map[string]layout{
	"empty":    {lines: []string{"kctrl init --domain example.com --repo example.com/guestbook --license none"}},
	"single":   {from: "empty", lines: []string{"kctrl create api --group webapp --version v1 --kind Guestbook"}},
	"versions": {from: "single", lines: []string{"kctrl create api --group webapp --version v2 --kind Guestbook"}},
	"multigroup": {lines: []string{
		"kctrl init --domain example.com --repo example.com/guestbook --license none --multigroup",
		"kctrl create api --group webapp --version v1 --kind Guestbook",
	}},
	"api-module": {lines: []string{
		"kctrl init --domain example.com --repo example.com/guestbook --license none --api-module",
		"kctrl create api --group webapp --version v1 --kind Guestbook",
	}},

	// Every generator has a file to write.
	"out-of-date": {from: "single", fixture: "out-of-date", lines: []string{"rm cmd/zz_generated.register.go"}},

	"kubebuilder": {fixture: "kubebuilder-v4", modules: guestbookModule},
	"kubebuilder-committed": {from: "kubebuilder", lines: []string{
		"git init -q", "git add .", "git -c user.name=me -c user.email=me@example.com commit -qm before",
	}},
	// The main module replaces the API module and vendors all dependencies.
	"kubebuilder-modules": {
		fixture: "kubebuilder-modules",
		modules: map[string]string{".": "example.com/guestbook", "api": "example.com/guestbook/api"},
		lines: []string{
			"go mod edit -require example.com/guestbook/api@v0.0.0 -replace example.com/guestbook/api=./api",
			"go list -mod=mod -deps ./...", "go mod vendor", // go mod tidy needs modules for tests of dependencies
		},
	},
	"adopted": {from: "kubebuilder-committed", lines: []string{
		"kctrl migrate", "git add .", "git -c user.name=me -c user.email=me@example.com commit -qm adopted",
	}},
}

// workshop creates the projects of layouts on first use. Tests share one workshop, which TestMain removes.
type workshop struct {
	mu   sync.Mutex
	dir  string // directory of the projects, created with the first one
	made map[string]func() error
}

var shared = workshop{made: map[string]func() error{}}

// project returns the directory of a project, which callers must not change. It runs the command lines with additional
// environment variables. Concurrent callers wait for the project.
func (w *workshop) project(name string, env []string) (string, error) {
	dir, build, err := w.find(name, env)
	if err != nil {
		return "", err
	}
	if err := build(); err != nil {
		return "", fmt.Errorf("layout %s: %w", name, err)
	}
	return dir, nil
}

func (w *workshop) find(name string, env []string) (dir string, build func() error, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dir == "" {
		if w.dir, err = os.MkdirTemp("", "kctrl-layouts-"); err != nil {
			return "", nil, err
		}
	}
	dir = filepath.Join(w.dir, name)
	if w.made[name] == nil {
		w.made[name] = sync.OnceValue(func() error { return w.build(name, dir, env) })
	}
	return dir, w.made[name], nil
}

func (w *workshop) build(name, dir string, env []string) error {
	l, ok := layouts[name]
	if !ok {
		return errors.New("there is no such layout")
	}
	if l.from == "" {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	} else {
		from, err := w.project(l.from, env)
		if err != nil {
			return err
		}
		if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
			return err
		}
	}
	if l.fixture != "" {
		if err := unpack(l.fixture, dir); err != nil {
			return err
		}
	}
	for directory, path := range l.modules {
		if err := writePeerModule(filepath.Join(dir, directory), path); err != nil {
			return err
		}
	}
	for _, line := range l.lines {
		words := strings.Fields(line)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir = dir
		cmd.Env = append(append(os.Environ(), env...), "XDG_CACHE_HOME="+filepath.Join(filepath.Dir(dir), ".cache"))
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out)
		}
	}
	return nil
}

func (w *workshop) remove() {
	if w.dir != "" {
		_ = os.RemoveAll(w.dir) // a temporary directory
	}
}

// repositoryFile returns the path of a file or directory of this repository.
func repositoryFile(name string) string {
	abs, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		panic(err)
	}
	return abs
}

func fixtureFile(name string) string { return repositoryFile("testdata/fixture/" + name + ".txtar") }

// unpack writes the files of an archive in testdata/fixture into a directory.
func unpack(fixture, dir string) error {
	archive, err := txtar.ParseFile(fixtureFile(fixture))
	if err != nil {
		return err
	}
	for _, f := range archive.Files {
		target := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writePeerModule writes go.mod and go.sum of a module that requires controller-runtime and the modules of
// compat/controller-runtime.
func writePeerModule(dir, path string) error {
	text, err := os.ReadFile(repositoryFile("compat/controller-runtime/go.mod"))
	if err != nil {
		return err
	}
	// The second file contains the hash of controller-runtime, so the go command does not query the checksum database.
	var sums []byte
	for _, name := range []string{"compat/controller-runtime/go.sum", "compat/controller-runtime/apitest/go.sum"} {
		more, err := os.ReadFile(repositoryFile(name))
		if err != nil {
			return err
		}
		sums = append(sums, more...)
	}
	file, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		return err
	}
	const runtime = "github.com/kctrl-dev/kctrl"
	err = errors.Join(file.AddModuleStmt(path), file.DropRequire(runtime), file.DropReplace(runtime, ""),
		file.AddRequire("sigs.k8s.io/controller-runtime", "v0.25.2"))
	if err != nil {
		return err
	}
	file.Cleanup()
	if text, err = file.Format(); err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), text, 0o644),
		os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644),
	)
}

// scriptProject is `project LAYOUT [DIR]`: it copies a shared project to DIR in $WORK, by default guestbook, and
// changes to it.
func scriptProject(env []string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, negated bool, args []string) {
		if negated || len(args) < 1 || len(args) > 2 {
			ts.Fatalf("usage: project layout [directory]")
		}
		from, err := shared.project(args[0], env)
		ts.Check(err)
		dir := filepath.Join(ts.Getenv("WORK"), append(args[1:], "guestbook")[0])
		ts.Check(os.CopyFS(dir, os.DirFS(from)))
		ts.Check(ts.Chdir(dir))
	}
}

// scriptFixture is `fixture NAME [DIR]`: it unpacks an archive of testdata/fixture.
func scriptFixture(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: fixture name [directory]")
	}
	ts.Check(unpack(args[0], ts.MkAbs(append(args[1:], ".")[0])))
}

// scriptModule is `module PATH [DIR]`: it writes go.mod and go.sum of a module that requires controller-runtime.
func scriptModule(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: module path [directory]")
	}
	ts.Check(writePeerModule(ts.MkAbs(append(args[1:], ".")[0]), args[0]))
}

// scriptMatches is `matches NAME`: it checks that the current directory has all files of an archive in testdata/fixture
// with the same text. With -update it rewrites the archive.
func scriptMatches(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) != 1 {
		ts.Fatalf("usage: matches name")
	}
	archive, err := txtar.ParseFile(fixtureFile(args[0]))
	ts.Check(err)
	var differences []string
	for i, f := range archive.Files {
		got := ts.ReadFile(f.Name)
		if diff := cmp.Diff(string(f.Data), got); diff != "" {
			differences = append(differences, f.Name+" (-fixture +found):\n"+diff)
		}
		archive.Files[i].Data = []byte(got)
	}
	if *update {
		ts.Check(os.WriteFile(fixtureFile(args[0]), txtar.Format(archive), 0o644))
		return
	}
	if len(differences) > 0 {
		ts.Fatalf("the files differ from testdata/fixture/%s.txtar:\n%s", args[0], strings.Join(differences, "\n"))
	}
}

// TestStoriesAreShort requires that a script begins with a summary, and limits its length.
func TestStoriesAreShort(t *testing.T) {
	const limit = 150
	scripts, err := filepath.Glob(repositoryFile("testdata/script/*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	for _, name := range scripts {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > limit || !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s has %d lines: want a comment that says what it is about, and at most %d lines",
				filepath.Base(name), lines, limit)
		}
	}
}

// TestFixturesAreUsed rejects archives that neither a layout nor a script uses.
func TestFixturesAreUsed(t *testing.T) {
	var used []string
	for _, l := range layouts {
		used = append(used, l.fixture)
	}
	scripts, err := filepath.Glob(repositoryFile("testdata/script/*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Comment)) {
			if words := strings.Fields(line); len(words) > 1 && (words[0] == "fixture" || words[0] == "matches") {
				used = append(used, words[1])
			}
		}
	}
	fixtures, err := filepath.Glob(fixtureFile("*"))
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("%d fixtures, %v", len(fixtures), err)
	}
	for _, fixture := range fixtures {
		if name := strings.TrimSuffix(filepath.Base(fixture), ".txtar"); !slices.Contains(used, name) {
			t.Errorf("nothing uses testdata/fixture/%s.txtar", name)
		}
	}
}
