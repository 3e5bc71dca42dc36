// Package oracle compares kctrl with controller-gen.
//
// [Run] replays the results of controller-gen for the same arguments and input files from recordings below
// testdata/oracle. An environment variable selects other modes:
//
//	KCTRL_TEST_ORACLE=record go test ./internal/generate  # run controller-gen, and write the recordings
//	KCTRL_TEST_ORACLE=run go test ./internal/generate     # run controller-gen, and compare with the recordings
package oracle

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	// Version is the version of controller-gen. bench/go.mod requires it.
	Version = "v0.23.0"
	// Variable names the environment variable with the mode: empty, "record" or "run".
	Variable = "KCTRL_TEST_ORACLE"
)

// Command is one run of controller-gen.
type Command struct {
	// Dir is the working directory. The files of the module around it are the input.
	Dir  string
	Args []string
	// Env are environment variables that affect the result, such as CGO_ENABLED=1.
	Env []string
	// Fresh means that the input is random and has no recording. It is allowed only if [Runs] returns true.
	Fresh bool
	// Dated means that the output contains the current year, which is $YEAR in the recording.
	Dated bool
	// Varies means that controller-gen's output differs between runs. The recording then contains one of several results.
	Varies bool
}

// Result is the result of a run of controller-gen.
type Result struct {
	Files  map[string]string // written files, by path below the module's directory
	Stdout string
	Stderr string // $MODULE represents the module's directory, and stacks of panics are omitted
	Failed bool
}

// Runs reports whether [Run] runs controller-gen. If it does, inputs without a recording have a result as well.
func Runs() bool { return os.Getenv(Variable) != "" }

// Run returns the result of controller-gen, and leaves the written files in place. The test fails if the result is not
// recorded, or if controller-gen ran and the result differs from the recording.
func Run(t testing.TB, c Command) Result {
	t.Helper()
	module := moduleOf(t, c.Dir)
	if c.Fresh {
		return c.run(t, module)
	}
	name := c.recording(t, module)
	used.Store(name, true)
	switch mode := os.Getenv(Variable); mode {
	case "":
		recorded := c.read(t, name)
		for path, content := range recorded.Files {
			Write(t, module, path, content)
		}
		return recorded
	case "record":
		result := c.run(t, module)
		c.write(t, name, result)
		return result
	case "run":
		result := c.run(t, module)
		if recorded := c.read(t, name); !c.Varies {
			if diff := cmp.Diff(recorded, result); diff != "" {
				t.Errorf("%s is not what controller-gen does (-recorded +now):\n%s", name, diff)
			}
		}
		return result
	default:
		t.Fatalf("unknown value %q for %s; use record or run", mode, Variable)
		return Result{}
	}
}

// run runs controller-gen.
func (c Command) run(t testing.TB, module string) Result {
	t.Helper()
	before := Files(t, module)
	command := exec.CommandContext(t.Context(), binary(t), c.Args...)
	command.Args[0] = "controller-gen" // apply configurations contain the name
	command.Dir, command.Env = c.Dir, append(os.Environ(), c.Env...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	result := Result{Files: Files(t, module), Stdout: stdout.String(), Stderr: normalized(stderr.String(), module),
		Failed: err != nil}
	for name, content := range before {
		if result.Files[name] == content {
			delete(result.Files, name)
		}
	}
	return result
}

// normalized returns the output of a program without parts that differ between runs.
func normalized(printed, module string) string {
	if real, err := filepath.EvalSymlinks(module); err == nil {
		printed = strings.ReplaceAll(printed, real, "$MODULE")
	}
	printed = strings.ReplaceAll(printed, module, "$MODULE")
	if message, _, panicked := strings.Cut(printed, "\ngoroutine "); panicked {
		printed = message + "\n"
	}
	return regexp.MustCompile(`0x[0-9a-f]{6,}`).ReplaceAllString(printed, "0x...")
}

// build returns the path of controller-gen. It is built once and kept in the user's cache directory.
var build = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	directory := filepath.Join(cache, "kctrl", "test")
	binary := filepath.Join(directory, "controller-gen-"+Version+"-"+runtime.Version())
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", err
	}
	staging, err := os.MkdirTemp(directory, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(staging)
	fresh := filepath.Join(staging, "controller-gen")
	build := exec.Command("go", "build", "-C", filepath.Join(root, "bench"), "-o", fresh,
		"sigs.k8s.io/controller-tools/cmd/controller-gen")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build controller-gen: %w\n%s", err, out)
	}
	if out, err := exec.Command(fresh, "--version").Output(); err != nil || string(out) != "Version: "+Version+"\n" {
		return "", fmt.Errorf("controller-gen --version: %q, %v; want %s", out, err, Version)
	}
	return binary, os.Rename(fresh, binary)
})

func binary(t testing.TB) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// moduleOf returns the directory of the module that dir belongs to.
func moduleOf(t testing.TB, dir string) string {
	t.Helper()
	module, err := above(dir, "go.mod")
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// repository returns the directory of the module under test.
func repository() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return above(dir, "go.sum")
}

// above returns dir or its nearest parent that has a file.
func above(dir, file string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, file)); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no %s in %s or above", file, dir)
		}
	}
}

// Module makes dir a module with the given path and with the requirements of the module under test.
func Module(t testing.TB, dir, path string) {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	mod = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module "+path))
	Write(t, dir, "go.mod", string(mod))
	Write(t, dir, "go.sum", string(sum))
}

// Write writes a file and creates its directory.
func Write(t testing.TB, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Files returns the content of all files in dir, by path.
func Files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		found[filepath.ToSlash(rel)] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
