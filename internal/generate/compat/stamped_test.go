package compat_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl/internal/generate/compat"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/testing/oracle"
)

// later calls f some seconds later, when the times of earlier files are old enough to show changes.
func later(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(5 * time.Second)))
		f(t)
	})
}

// ran runs a command and writes the result. It reports whether the cache had the result.
func ran(t *testing.T, dir, line string, store incremental.Store) (upToDate bool) {
	t.Helper()
	before := entries(t, store)
	written(t, dir, line, store)
	return cmp.Equal(before, entries(t, store))
}

func written(t *testing.T, dir, line string, store incremental.Store) {
	t.Helper()
	command, err := compat.Parse(strings.Fields(line))
	if err != nil {
		t.Fatal(err)
	}
	result, err := command.Run(t.Context(), compat.Options{Dir: dir, Cache: store})
	if err == nil {
		err = result.Write(t.Context(), "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

const toFiles = "object:headerFile=hack/boilerplate.go.txt rbac:roleName=manager crd:maxDescLen=9 webhook " +
	"paths=./api/v1/... paths=./internal/..."

// TestNothingIsReadTwice makes changes after the times of all inputs are old enough for stamps.
func TestNothingIsReadTwice(t *testing.T) {
	put := func(name, content string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) { oracle.Write(t, dir, name, content) }
	}
	away := func(name string) func(t *testing.T, dir string) {
		return func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	for name, test := range map[string]struct {
		change  func(t *testing.T, dir string)
		nothing bool
	}{
		"nothing":          {nothing: true, change: func(*testing.T, string) {}},
		"a file elsewhere": {nothing: true, change: put("docs/new.md", "Read me.\n")},
		"a type": {change: put("api/v1/more.go",
			"package v1\n\n// +kubebuilder:object:generate=true\ntype More struct{ A []string }\n")},
		"a header": {change: put("hack/boilerplate.go.txt", "// Other.\n")},
		"a right": {change: put("internal/odd/odd.go",
			"package odd\n\n// +kubebuilder:rbac:groups=a,resources=b,verbs=get\n")},
		"a package": {change: put("internal/new/new.go",
			"package new\n\n// +kubebuilder:rbac:groups=n,resources=b,verbs=get\n")},
		"a module":          {change: put("internal/odd/go.mod", "module example.com/odd\n")},
		"a workspace":       {change: put("go.work", "go 1.26.0\n\nuse .\n")},
		"a file that goes":  {change: away("internal/odd/odd.go")},
		"an output":         {nothing: true, change: put("config/rbac/role.yaml", "# mine\n")},
		"an output is gone": {nothing: true, change: away("api/v1/zz_generated.deepcopy.go")},
	} {
		t.Run(name, func(t *testing.T) {
			dir, store := warm(t, toFiles)
			later(t, func(t *testing.T) {
				written(t, dir, toFiles, store)
				if !ran(t, dir, toFiles, store) {
					t.Fatal("the result was made again")
				}
				test.change(t, dir)
				if upToDate := ran(t, dir, toFiles, store); upToDate != test.nothing {
					t.Errorf("after the change: up to date %v, want %v", upToDate, test.nothing)
				}
				results(t, dir, toFiles, store)
			})
		})
	}
}

// TestFreshFilesAreReadAgain checks files that changed so recently that their times might not show the next change.
func TestFreshFilesAreReadAgain(t *testing.T) {
	dir, store := project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	written(t, dir, toFiles, store)
	for range 2 {
		ran(t, dir, toFiles, store)
	}
	if !ran(t, dir, toFiles, store) {
		t.Error("the result was made again")
	}
	oracle.Write(t, dir, "api/v1/more.go", "package v1\n\n// +kubebuilder:object:generate=true\ntype More struct{ A "+
		"[]string }\n")
	if ran(t, dir, toFiles, store) {
		t.Error("a change of the source was not seen")
	}
	ran(t, dir, toFiles, store)
	before := modified(t, store)
	if !ran(t, dir, toFiles, store) || !cmp.Equal(before, modified(t, store)) {
		t.Error("stamps were made again before their times said enough")
	}
	later(t, func(t *testing.T) {
		if !ran(t, dir, toFiles, store) || cmp.Equal(before, modified(t, store)) {
			t.Error("stamps that can be trusted are not kept")
		}
	})
}

// TestDamagedStampsAreNotUsed damages the stamps, which the next run must then replace.
func TestDamagedStampsAreNotUsed(t *testing.T) {
	dir, store := warm(t, toFiles)
	later(t, func(t *testing.T) {
		for range 2 {
			written(t, dir, toFiles, store)
		}
		names, err := filepath.Glob(filepath.Join(store.Dir, "*.stamps"))
		if err != nil || len(names) != 1 {
			t.Fatalf("%v, %v", names, err)
		}
		content, err := os.ReadFile(names[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, len(content) / 2, len(content) - 1} {
			damaged := append([]byte{}, content...)
			damaged[i] ^= 1
			if err := os.WriteFile(names[0], damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			written(t, dir, toFiles, store)
			if after, err := os.ReadFile(names[0]); err != nil || bytes.Equal(after, damaged) {
				t.Errorf("stamps with another byte %d were used: %v", i, err)
			}
		}
	})
}
