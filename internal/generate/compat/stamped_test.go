package compat_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// ran removes the cache entry, runs a command and writes the result. It reports whether the command found its result up
// to date without creating the entry again.
func ran(t *testing.T, dir, line string, store incremental.Store) (upToDate bool) {
	t.Helper()
	for name := range modified(t, store) {
		if filepath.Ext(name) == ".entry" {
			if err := os.Remove(filepath.Join(store.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	written(t, dir, line, store)
	for name := range modified(t, store) {
		if filepath.Ext(name) == ".entry" {
			return false
		}
	}
	return true
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

// TestNothingIsReadTwice makes changes that only stamps can detect.
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
		"an output":         {change: put("config/rbac/role.yaml", "# mine\n")},
		"an output is gone": {change: away("api/v1/zz_generated.deepcopy.go")},
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

// TestSecondRunDoesAsLittleAsTheThird checks files that changed so recently that their times might not show the next
// change. The second run reads only their content, and generates nothing.
func TestSecondRunDoesAsLittleAsTheThird(t *testing.T) {
	dir, store := project(t), incremental.Store{Dir: filepath.Join(t.TempDir(), "cache")}
	written(t, dir, toFiles, store)
	for run := 2; run <= 3; run++ {
		if !ran(t, dir, toFiles, store) {
			t.Errorf("run %d asked again, or made the result again", run)
		}
	}
	oracle.Write(t, dir, "config/rbac/role.yaml", "# mine\n")
	if ran(t, dir, toFiles, store) {
		t.Error("a changed output is accepted")
	}
	if !ran(t, dir, toFiles, store) {
		t.Error("the run after one that wrote an output did more")
	}
	oracle.Write(t, dir, "api/v1/more.go", "package v1\n\n// +kubebuilder:object:generate=true\ntype More struct{ A "+
		"[]string }\n")
	if ran(t, dir, toFiles, store) {
		t.Error("a change of the source was not seen")
	}
	before := modified(t, store)
	if !ran(t, dir, toFiles, store) || !cmp.Equal(before, modified(t, store),
		cmpopts.IgnoreMapEntries(func(name string, _ int64) bool { return filepath.Ext(name) == ".entry" })) {
		t.Error("stamps were made again before their times said enough")
	}
	later(t, func(t *testing.T) {
		if !ran(t, dir, toFiles, store) || cmp.Equal(before, modified(t, store)) {
			t.Error("stamps that can be trusted are not kept")
		}
	})
}

// TestDamagedStampsAreNotUsed damages the stamps, which are the only record after the cache entry has been removed.
func TestDamagedStampsAreNotUsed(t *testing.T) {
	dir, store := warm(t, toFiles)
	later(t, func(t *testing.T) {
		written(t, dir, toFiles, store)
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
			if ran(t, dir, toFiles, store) {
				t.Errorf("stamps with another byte %d were used", i)
			}
		}
	})
}
