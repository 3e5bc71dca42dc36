package compat_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

const manyGenerators = "object:headerFile=hack/boilerplate.go.txt rbac:roleName=manager crd:maxDescLen=9 webhook " +
	"paths=./api/v1/... paths=./internal/... output:rbac:stdout"

// results runs a command with and without a cache, and requires the same result. It reports whether the cache had one.
func results(t *testing.T, dir, line string, store incremental.Store) (result *compat.Result, hit bool) {
	t.Helper()
	result, hit = cached(t, dir, line, store)
	plain := ranPlain(t, line, dir)
	if diff := cmp.Diff(plain.Files(), result.Files()); diff != "" {
		t.Errorf("files differ (-plain +cached):\n%s", diff)
	}
	if diff := cmp.Diff(string(plain.Stdout()), string(result.Stdout())); diff != "" {
		t.Errorf("standard output differs (-plain +cached):\n%s", diff)
	}
	if diff := cmp.Diff(texts(plain.Warnings), texts(result.Warnings)); diff != "" {
		t.Errorf("warnings differ (-plain +cached):\n%s", diff)
	}
	return result, hit
}

// cached runs a command with a cache, and reports whether the cache had the result.
func cached(t *testing.T, dir, line string, store incremental.Store) (result *compat.Result, hit bool) {
	t.Helper()
	command, err := compat.Parse(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	before := entries(t, store)
	result, err = command.Run(t.Context(), compat.Options{Dir: dir, Cache: store})
	if err != nil {
		t.Fatal(err)
	}
	after := entries(t, store)
	return result, len(after) > 0 && cmp.Equal(before, after)
}

func texts(errs []error) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

// entries returns the entries and their times. Stamps are rewritten when they can be trusted, which takes seconds.
func entries(t *testing.T, store incremental.Store) map[string]int64 {
	t.Helper()
	found := modified(t, store)
	maps.DeleteFunc(found, func(name string, _ int64) bool { return filepath.Ext(name) != ".entry" })
	return found
}

// modified returns the files and their times.
func modified(t *testing.T, store incremental.Store) map[string]int64 {
	t.Helper()
	files, err := os.ReadDir(store.Dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	found := map[string]int64{}
	for _, file := range files {
		info, err := file.Info()
		if err != nil {
			t.Fatal(err)
		}
		found[file.Name()] = info.ModTime().UnixNano()
	}
	return found
}

// warm returns a project, and a cache that contains the result of the command.
func warm(t *testing.T, line string) (dir string, store incremental.Store) {
	t.Helper()
	dir, store = project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	oracle.Write(t, dir, "internal/odd/odd.go", "package odd\n\n// +kubebuilder:rbca:groups=a,verbs=get\n")
	result, hit := cached(t, dir, line, store)
	if hit {
		t.Fatal("an empty cache was of use")
	}
	if err := result.Write(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	return dir, store
}

func TestNothingIsDoneTwice(t *testing.T) {
	for _, line := range []string{
		manyGenerators,
		"schemapatch:manifests=manifests paths=./api/v1 output:dir=patched",
		"crd paths=./third/... paths=./hack/... output:stdout",
		"applyconfiguration paths=./apply/v2 output:none",
		"crd paths=example.com/operator/api/v1;example.com/operator/api/v1beta1 paths=example.com/operator/internal/... " +
			"output:dir=out",
		"object paths=k8s.io/api/autoscaling/v1 output:stdout",
		"object paths=./... output:object:dir=out",
		"object paths=./api/v1;./... output:stdout",
		"rbac:roleName=m paths=example.com/operator/internal/odd;k8s.io/api/policy/... output:stdout",
	} {
		dir, store := warm(t, line)
		result, hit := results(t, dir, line, store)
		if !hit {
			t.Errorf("%s: the cache was of no use", line)
		}
		if strings.Contains(line, "internal/") && len(result.Warnings) == 0 {
			t.Error("the warning is not repeated")
		}
	}
}

func TestChangesOfInputsCount(t *testing.T) {
	const imported = "object paths=example.com/operator/api/v1;example.com/operator/internal/..."
	const nested = "rbac:roleName=manager paths=./... output:stdout"
	for name, test := range map[string]struct{ line, file, content string }{
		"type": {manyGenerators, "api/v1/more.go",
			"package v1\n\n// +kubebuilder:object:generate=true\ntype More struct{ A []string }\n"},
		"header": {manyGenerators, "hack/boilerplate.go.txt", "// Other.\n"},
		"right": {manyGenerators, "internal/odd/odd.go",
			"package odd\n\n// +kubebuilder:rbac:groups=a,resources=b,verbs=get\n"},
		"named package": {imported, "api/v1/more.go", "package v1\n\n// +kubebuilder:object:generate=true\ntype More " +
			"struct{ A []string }\n"},
		"package below": {imported, "internal/new/new.go",
			"package new\n\n// +kubebuilder:object:generate=true\ntype More struct{ A []string }\n"},
		"go.mod":    {imported, "internal/go.mod", "module example.com/operator/internal\n\ngo 1.26\n"},
		"workspace": {imported, "go.work", "go 1.26.0\n\nuse .\n"},
		"new package": {manyGenerators, "internal/new/new.go",
			"package new\n\n// +kubebuilder:rbac:groups=n,resources=b,verbs=get\n"},
		"cgo": {manyGenerators, "api/v1/c.go",
			"package v1\n\nimport \"C\"\n\n// +kubebuilder:object:generate=true\ntype More struct{ A []string }\n"},
		"new module":    {nested, "deep/er/go.mod", "module example.com/deep\n\ngo 1.26\n"},
		"hidden module": {nested, "testdata/er/go.mod", "module example.com/deep\n\ngo 1.26\n"},
		"manifest": {"schemapatch:manifests=manifests paths=./api/v1 output:stdout", "manifests/new.yaml",
			"kind: ConfigMap\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, store := warm(t, test.line)
			oracle.Write(t, dir, test.file, test.content)
			// Results of the loader of controller-tools are not cached.
			if _, hit := results(t, dir, test.line, store); hit && name != "cgo" {
				t.Error("the change was not seen")
			}
		})
	}
}

func TestInputsOfACachedResultAreReported(t *testing.T) {
	dir, store := warm(t, manyGenerators)
	command, err := compat.Parse(strings.Fields(manyGenerators))
	if err != nil {
		t.Fatal(err)
	}
	inputs := func(store incremental.Store) (reported source.Inputs) {
		_, err := command.Run(t.Context(), compat.Options{
			Dir: dir, Cache: store, Inputs: func(i source.Inputs) { reported = i },
		})
		if err != nil {
			t.Fatal(err)
		}
		return reported
	}
	if kept, made := inputs(store), inputs(incremental.Store{}); len(made) == 0 || len(kept) != len(made) {
		t.Errorf("a kept result has %d inputs, one that is made %d", len(kept), len(made))
	}
}

func TestOptionsOfACommandCount(t *testing.T) {
	dir, store := warm(t, "crd paths=./api/v1 output:stdout")
	for _, line := range []string{"crd:maxDescLen=0 paths=./api/v1 output:stdout", "crd paths=./api/v1beta1 output:stdout",
		"crd paths=./api/v1 output:dir=other"} {
		if _, hit := results(t, dir, line, store); hit {
			t.Errorf("%s: has the result of another command", line)
		}
	}
}

func TestDamagedResultsAreRecreated(t *testing.T) {
	dir, store := warm(t, manyGenerators)
	for name := range modified(t, store) {
		name = filepath.Join(store.Dir, name)
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)/2] ^= 1
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, hit := results(t, dir, manyGenerators, store); hit {
		t.Error("a damaged entry was used")
	}
	if _, hit := results(t, dir, manyGenerators, store); !hit {
		t.Error("a damaged entry was not replaced")
	}
}

func TestCommandsMayRunAtTheSameTime(t *testing.T) {
	dir, store := warm(t, manyGenerators)
	oracle.Write(t, dir, "internal/odd/odd.go", "package odd\n\n// +kubebuilder:rbac:groups=a,resources=b,verbs=get\n")
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			command, err := compat.Parse(strings.Fields(manyGenerators))
			if err != nil {
				t.Error(err)
				return
			}
			result, err := command.Run(t.Context(), compat.Options{Dir: dir, Cache: store})
			if err != nil || !strings.Contains(string(result.Stdout()), "  - b\n") {
				t.Errorf("no right to b, or %v", err)
			}
		})
	}
	running.Wait()
	if _, hit := results(t, dir, manyGenerators, store); !hit {
		t.Error("nothing was kept")
	}
}

func TestMistakesAreKept(t *testing.T) {
	const right = "package v1\n\ntype More string\n"
	const wrong = "package v1\n\n// +kubebuilder:validation:MinLength=long\ntype More string\n"
	dir, store := project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	oracle.Write(t, dir, "api/v1/more.go", wrong)
	var reported []string
	for range 2 {
		before := entries(t, store)
		_, err := run(t, dir, []string{"crd", "paths=./api/v1"}, compat.Options{Cache: store})
		if err == nil {
			t.Fatal("the mistake was not reported")
		}
		reported = append(reported, fmt.Sprintf("%+v", *diagnostic.All(err)[0].(*diagnostic.Error)))
		if len(reported) > 1 && !cmp.Equal(before, entries(t, store)) {
			t.Error("the cache was of no use")
		}
	}
	if reported[0] != reported[1] {
		t.Errorf("got %s, and from the cache %s", reported[0], reported[1])
	}
	oracle.Write(t, dir, "api/v1/more.go", right)
	if _, err := run(t, dir, []string{"crd", "paths=./api/v1"}, compat.Options{Cache: store}); err != nil {
		t.Errorf("after the correction: %v", err)
	}
}

// TestMistakesOutsideAreNotKept checks that the next run searches for a missing module again.
func TestMistakesOutsideAreNotKept(t *testing.T) {
	dir, store := project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	oracle.Write(t, dir, "api/v1/more.go", "package v1\n\nimport \"example.com/missing\"\n\ntype More missing.More\n")
	if _, err := run(t, dir, []string{"crd", "paths=./api/v1"}, compat.Options{Cache: store}); err == nil {
		t.Fatal("the missing package was not reported")
	}
	if kept := entries(t, store); len(kept) > 0 {
		t.Errorf("a failure was kept: %v", kept)
	}
}

// TestTheYearOfAHeaderCounts checks that apply configurations contain the current year.
func TestTheYearOfAHeaderCounts(t *testing.T) {
	const line = "applyconfiguration:headerFile=hack/boilerplate.go.txt paths=./apply/v2"
	dir, store := project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	synctest.Test(t, func(t *testing.T) {
		for _, year := range []string{"2000", "2001"} {
			command, err := compat.Parse(strings.Fields(line))
			if err != nil {
				t.Fatal(err)
			}
			result, err := command.Run(t.Context(), compat.Options{Dir: dir, Cache: store})
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range result.Files() {
				if !strings.Contains(string(file.Content), year) {
					t.Errorf("%s is not of %s:\n%.200s", file.Path, year, file.Content)
				}
			}
			if len(modified(t, store)) == 0 {
				t.Error("nothing was kept")
			}
			time.Sleep(366 * 24 * time.Hour)
		}
	})
}

// shim replaces the go command by a program, as version managers do. The program runs the commands of the file .shim in
// its directory, and then the original go command. shim returns a function that lists the calls since its last use.
func shim(t *testing.T) (calls func() string) {
	t.Helper()
	command, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>'%s'\n[ ! -f .shim ] || . ./.shim\nexec '%s' \"$@\"\n", log, command)
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOROOT", "")
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() string {
		content, err := os.ReadFile(log)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		_ = os.Remove(log)
		return strings.Join(strings.Fields(string(content)), " ")
	}
}

// TestShimsAreAskedWhatTheyRun uses a shim as the go command in PATH. Each run reads its settings again; packages are
// found and results are cached as with the real command. Only the current settings count.
func TestShimsAreAskedWhatTheyRun(t *testing.T) {
	const line = "object crd paths=./api/v1/... output:crd:dir=out"
	wanted := func(dir string) map[string]string {
		files := map[string]string{}
		for _, file := range ranPlain(t, line, dir).Files() {
			files[strings.TrimPrefix(file.Path, dir)] = string(file.Content)
		}
		return files
	}
	plain := wanted(project(t))
	calls := shim(t)
	dir, store := warm(t, line)
	if got := calls(); got != "env" {
		t.Errorf("one run has called it for %s", got)
	}
	if diff := cmp.Diff(plain, wanted(dir)); diff != "" {
		t.Errorf("behind a shim the files are others (-without +with):\n%s", diff)
	}
	_ = calls()
	if _, hit := results(t, dir, line, store); !hit {
		t.Error("the cache was of no use")
	}
	if got := calls(); got != "env env" {
		t.Errorf("two runs of which nothing has changed have called it for %s", got)
	}

	// The shim runs a go command for another system.
	oracle.Write(t, dir, "api/v1/more_plan9.go", "package v1\n\n// +kubebuilder:object:generate=true\ntype OnPlan9 "+
		"struct{ A []string }\n")
	has := func(result *compat.Result) bool {
		return slices.ContainsFunc(result.Files(), func(file artifact.File) bool {
			return strings.Contains(
				string(file.Content), "OnPlan9")
		})
	}
	if result, _ := results(t, dir, line, store); has(result) {
		t.Error("a file for another system counts")
	}
	oracle.Write(t, dir, ".shim", "export GOOS=plan9\n")
	if result, hit := results(t, dir, line, store); hit || !has(result) {
		t.Errorf("that the shim runs another go command was seen: %v, and taken from the cache: %v", has(result), hit)
	}
	if err := os.Remove(filepath.Join(dir, ".shim")); err != nil {
		t.Fatal(err)
	}
	if _, hit := results(t, dir, line, store); !hit {
		t.Error("that the shim runs the first go command again was not seen")
	}
}

// TestShimsThatDoNotAnswer checks that the go command lists the packages if a shim does not answer.
func TestShimsThatDoNotAnswer(t *testing.T) {
	const line = "object crd paths=./api/v1/... output:crd:dir=out"
	plain := len(ranPlain(t, line, project(t)).Files())
	calls := shim(t)
	for _, script := range []string{"exit 7", "{ echo Using go 1.26; exit; }", "{ echo '{}'; exit; }",
		`{ echo '{"GOROOT":"/nowhere"}'; exit; }`} {
		dir := project(t)
		oracle.Write(t, dir, ".shim", `[ "$1" != env ] || `+script+"\n")
		if got := len(ranPlain(t, line, dir).Files()); got != plain {
			t.Errorf("%s: %d files, want %d", script, got, plain)
		}
		if got := calls(); !strings.Contains(got, "list") {
			t.Errorf("%s: no command has listed packages: %s", script, got)
		}
	}
	dir := project(t)
	oracle.Write(t, dir, ".shim", `[ "$1" != env ] || sleep 600`+"\n")
	command, err := compat.Parse(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := command.Run(ctx, compat.Options{Dir: dir}); err == nil {
		t.Error("a run that was interrupted has ended well")
	}
}

// TestShimsAnswerForOneModule uses a shim that runs another go command in the directory of another module. kctrl must
// then let the go command list the packages.
func TestShimsAnswerForOneModule(t *testing.T) {
	dir := twoModules(t)
	const line = "object paths=./config paths=./api/... output:stdout"
	want := string(ranPlain(t, line, dir).Stdout())
	calls := shim(t)
	if got := string(ranPlain(t, line, dir).Stdout()); got != want || !strings.Contains(calls(), "list") {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// ranPlain runs a command without a cache.
func ranPlain(t *testing.T, line, dir string) *compat.Result {
	t.Helper()
	command, err := compat.Parse(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return result
}
