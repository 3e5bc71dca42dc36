package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/scaffold/project"
	"github.com/kctrl-dev/kctrl/internal/testing/fault"
	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

// startingTree writes a tree, for which mixedPlan returns a plan with two creations in new directories, two updates,
// two deletions and the lock.
func startingTree(t *testing.T, fsys afero.Fs) {
	write(t, fsys, map[string]string{
		"PROJECT":           "version: kctrl/v1\n",
		"cmd/main.go":       "package main\n",
		"hack/run.sh":       "#!/bin/sh\n",
		"api/old/deep/x.go": "package deep\n",
		"api/keep/y.go":     "package keep\n",
		"api/keep/z.go":     "package keep\n",
	})
	must(t, fsys.Chmod("hack/run.sh", 0o750))
}

// mixedFiles are the files that the plan changes.
var mixedFiles = []string{"PROJECT.lock", "api/keep/y.go", "api/old/deep/x.go", "api/v1/nested/run", "api/v1/types.go",
	"cmd/main.go", "hack/run.sh"}

func mixedPlan(t *testing.T, fsys afero.Fs) *Plan {
	t.Helper()
	p := New(afero.NewIOFS(fsys))
	must(t, p.Write("api/v1/types.go", []byte("package v1\n"), "types"))
	must(t, p.Edit("api/v1/nested/run", []byte("#!\n")))
	must(t, p.WriteFile(File{Path: "cmd/main.go", Content: []byte("package main // new\n"), Force: true}))
	must(t, p.WriteFile(File{Path: "hack/run.sh", Content: nil, Force: true}))
	must(t, p.Delete("api/old/deep/x.go"))
	must(t, p.Delete("api/keep/y.go"))
	return p
}

func TestApplyWritesEveryChange(t *testing.T) {
	fileSystems(t, func(t *testing.T, newFs func() afero.Fs) {
		fsys := newFs()
		startingTree(t, fsys)
		p := mixedPlan(t, fsys)
		if p.Len() != 7 {
			t.Fatalf("%d changes, want 7", p.Len())
		}
		must(t, p.Apply(t.Context(), fsys, "test"))
		got := tree(t, fsys)
		lock := got[project.LockFile]
		delete(got, project.LockFile)
		want := map[string]string{
			"PROJECT": `-rw-r--r-- "version: kctrl/v1\n"`,
			"api":     "drwxr-xr-x", "api/keep": "drwxr-xr-x", "api/keep/z.go": `-rw-r--r-- "package keep\n"`,
			"api/v1": "drwxr-xr-x", "api/v1/nested": "drwxr-xr-x", "api/v1/nested/run": `-rw-r--r-- "#!\n"`,
			"api/v1/types.go": `-rw-r--r-- "package v1\n"`,
			"cmd":             "drwxr-xr-x", "cmd/main.go": `-rw-r--r-- "package main // new\n"`,
			"hack": "drwxr-xr-x", "hack/run.sh": `-rwxr-x--- ""`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(lock, `api/v1/types.go\t`) || strings.Contains(lock, "nested") {
			t.Errorf("lock %s", lock)
		}
		if again := mixedPlan(t, fsys); again.Len() != 0 {
			t.Errorf("planning the same again gives %s", again.Diff())
		}
	})
}

// faultCases applies the mixed plan once for each mutating call, and makes that call fail with fails(n).
func faultCases(t *testing.T, newFs func() afero.Fs, fails func(n int) func(int, string) error,
	check func(t *testing.T, before, after, got map[string]string, calls []string, err error)) {
	fsys := newFs()
	startingTree(t, fsys)
	before := tree(t, fsys)
	count := &fault.FS{Fs: fsys, Fails: func(int, string) error { return nil }}
	must(t, mixedPlan(t, fsys).Apply(t.Context(), count, "test"))
	after := tree(t, fsys)
	if len(count.Calls) < 25 {
		t.Fatalf("only %d calls", len(count.Calls))
	}
	for n := 1; n <= len(count.Calls); n++ {
		fsys := newFs()
		startingTree(t, fsys)
		faulty := &fault.FS{Fs: fsys, Fails: fails(n)}
		err := mixedPlan(t, fsys).Apply(t.Context(), faulty, "test")
		t.Run(fmt.Sprintf("call %d", n), func(t *testing.T) {
			check(t, before, after, tree(t, fsys), count.Calls[n-1:], err)
		})
		_, _, err = transaction.Recover(fsys)
		must(t, err)
		if err := mixedPlan(t, fsys).Apply(t.Context(), fsys, "test"); err != nil {
			t.Errorf("a retry after a fault in call %d: %v", n, err)
		}
	}
}

func TestReadOnlyFileSystemIsOneError(t *testing.T) {
	fileSystems(t, func(t *testing.T, newFs func() afero.Fs) {
		fsys := newFs()
		startingTree(t, fsys)
		before := tree(t, fsys)
		faulty := &fault.FS{Fs: fsys, Fails: func(int, string) error { return syscall.EROFS }}
		err := mixedPlan(t, fsys).Apply(t.Context(), faulty, "test")
		if all := diagnostic.All(err); len(all) != 1 || !errors.Is(err, syscall.EROFS) {
			t.Errorf("got %v, want one error about %v", all, syscall.EROFS)
		}
		if diff := cmp.Diff(before, tree(t, fsys)); diff != "" {
			t.Errorf("the tree is not as before:\n%s", diff)
		}
	})
}

func TestFaultInAnyCallLeavesTheTreeAsItWas(t *testing.T) {
	for name, failure := range map[string]error{"unknown": fault.Err, "no space": syscall.ENOSPC,
		"read-only": syscall.EROFS} {
		fails := func(n int) func(int, string) error {
			return func(call int, _ string) error {
				if call == n {
					return failure
				}
				return nil
			}
		}
		t.Run(name, func(t *testing.T) {
			fileSystems(t, func(t *testing.T, newFs func() afero.Fs) {
				faultCases(t, newFs, fails, func(t *testing.T, before, after, got map[string]string, calls []string, err error) {
					complete := err == nil || strings.Contains(err.Error(), "all changes are written")
					if err == nil && !strings.HasPrefix(calls[0], "link") {
						t.Fatalf("%s failed without an error", calls[0])
					}
					if err != nil && !errors.Is(err, failure) {
						t.Fatalf("got error %v, want one about %v", err, failure)
					}
					if _, ok := errors.AsType[*diagnostic.Error](err); err != nil && !ok {
						t.Errorf("%T is not a diagnostic", err)
					}
					if !complete {
						for _, e := range diagnostic.All(err) {
							if reported, _ := errors.AsType[*diagnostic.Error](e); !slices.Contains(mixedFiles, reported.Pos.Filename) {
								t.Errorf("%s: %v, which is none of %v", calls[0], e, mixedFiles)
							}
						}
						if diff := cmp.Diff(before, got); diff != "" {
							t.Errorf("%s: the tree is not as before:\n%s", calls[0], diff)
						}
						return
					}
					for _, left := range leftovers(got) {
						delete(got, left)
					}
					if err != nil {
						maps.DeleteFunc(got, func(path, _ string) bool { return strings.HasPrefix(path, "api/old") })
					}
					if diff := cmp.Diff(after, got); diff != "" {
						t.Errorf("%s: the tree is not complete:\n%s", calls[0], diff)
					}
				})
			})
		})
	}
}

func TestFullDiskForNewDataLeavesTheTreeAsItWas(t *testing.T) {
	fails := func(n int) func(int, string) error {
		return func(call int, what string) error {
			if call >= n && (strings.HasPrefix(what, "write") || strings.HasPrefix(what, "mkdir") ||
				strings.HasPrefix(what, "open")) {
				return syscall.ENOSPC
			}
			return nil
		}
	}
	fileSystems(t, func(t *testing.T, newFs func() afero.Fs) {
		faultCases(t, newFs, fails, func(t *testing.T, before, after, got map[string]string, _ []string, err error) {
			want := before
			if err == nil {
				want = after
			} else if e, _ := errors.AsType[*diagnostic.Error](err); !strings.Contains(e.Hint, "free some space") {
				t.Errorf("hint %q", e.Hint)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	})
}

func TestIrreversibleChangesAreNamed(t *testing.T) {
	fsys := afero.NewMemMapFs()
	startingTree(t, fsys)
	renames := 0
	faulty := &fault.FS{Fs: fsys, Fails: func(_ int, call string) error {
		if strings.HasPrefix(call, "rename") {
			renames++
		}
		if renames > 4 {
			return fault.Err
		}
		return nil
	}}
	err := mixedPlan(t, fsys).Apply(t.Context(), faulty, "test")
	var left []string
	for _, e := range diagnostic.All(err) {
		if strings.Contains(e.Error(), "its content is in ") {
			_, at, _ := strings.Cut(e.Error(), "its content is in ")
			at, _, _ = strings.Cut(at, ":")
			left = append(left, at)
		}
	}
	if len(left) == 0 {
		t.Fatalf("no place of an old version in %v", err)
	}
	for _, path := range left {
		if ok, _ := afero.Exists(fsys, path); !ok {
			t.Errorf("%s is not there", path)
		}
	}
}

func TestApplyRefusesWhatIsNotAsPlanned(t *testing.T) {
	for _, tt := range []struct {
		rule   string
		change func(fsys afero.Fs) error
		path   string
		want   string
	}{
		{"edited file", func(f afero.Fs) error { return afero.WriteFile(f, "cmd/main.go", []byte("mine"), 0o644) },
			"cmd/main.go", "has changed since the command began"},
		{"edited file to delete", func(f afero.Fs) error {
			return afero.WriteFile(f, "api/keep/y.go", []byte("mine"),
				0o644)
		},
			"api/keep/y.go", "has changed since"},
		{"vanished file", func(f afero.Fs) error { return f.Remove("cmd/main.go") }, "cmd/main.go", "has changed since"},
		{"new file in the way", func(f afero.Fs) error {
			return errors.Join(f.Mkdir("api/v1", 0o755), afero.WriteFile(f, "api/v1/types.go", []byte("mine"), 0o644))
		}, "api/v1/types.go", "has changed since"},
		{"folder in the way", func(f afero.Fs) error { return f.MkdirAll("api/v1/types.go", 0o755) },
			"api/v1/types.go", "a directory is in the way"},
		{"file where a folder should be", func(f afero.Fs) error { return afero.WriteFile(f, "api/v1", nil, 0o644) },
			"api/v1", "a file is in the way"},
		{"file made read-only", func(f afero.Fs) error { return f.Chmod("hack/run.sh", 0o444) },
			"hack/run.sh", "cannot write: permission denied"},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			fileSystems(t, func(t *testing.T, newFs func() afero.Fs) {
				fsys := newFs()
				startingTree(t, fsys)
				p := mixedPlan(t, fsys)
				must(t, tt.change(fsys))
				before := tree(t, fsys)
				errs := diagnostic.All(p.Apply(t.Context(), fsys, "test"))
				if len(errs) != 1 || !strings.Contains(errs[0].Error(), tt.want) {
					t.Fatalf("got %v, want only %s: %s", errs, tt.path, tt.want)
				}
				if e, _ := errors.AsType[*diagnostic.Error](errs[0]); e.Pos.Filename != tt.path || e.Hint == "" {
					t.Errorf("got %+v", e)
				}
				if diff := cmp.Diff(before, tree(t, fsys)); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// editFs edits a file just before the rename that moves it away.
type editFs struct {
	afero.Fs
	t    *testing.T
	path string
}

func (f *editFs) Rename(from, to string) error {
	if from == f.path {
		must(f.t, afero.WriteFile(f.Fs, from, []byte("edited meanwhile"), 0o644))
	}
	return f.Fs.Rename(from, to)
}

func TestEditDuringApplyIsKept(t *testing.T) {
	fileSystems(t, func(t *testing.T, newFs func() afero.Fs) {
		fsys := newFs()
		startingTree(t, fsys)
		before := tree(t, fsys)
		err := mixedPlan(t, fsys).Apply(t.Context(), &editFs{Fs: fsys, t: t, path: "cmd/main.go"}, "test")
		if err == nil || !strings.Contains(err.Error(), "cmd/main.go: has changed") {
			t.Fatalf("got %v", err)
		}
		before["cmd/main.go"] = `-rw-r--r-- "edited meanwhile"`
		if diff := cmp.Diff(before, tree(t, fsys)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestReadOnlyDirectoryLeavesTheTreeUnchanged(t *testing.T) {
	dir := t.TempDir()
	root, err := transaction.Open(dir)
	must(t, err)
	defer root.Close()
	startingTree(t, root)
	must(t, os.Chmod(filepath.Join(dir, "hack"), 0o555))
	defer os.Chmod(filepath.Join(dir, "hack"), 0o755)
	before := tree(t, root)
	plan := mixedPlan(t, root)
	var fsys afero.Fs = root
	if os.Geteuid() == 0 {
		fsys = &fault.FS{Fs: root, Fails: func(_ int, call string) error {
			if strings.Contains(call, " hack/") {
				return &fs.PathError{Op: "open", Path: "hack", Err: syscall.EACCES}
			}
			return nil
		}}
	}
	err = plan.Apply(t.Context(), fsys, "test")
	e, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || e.Error() != "hack/run.sh: cannot write: permission denied" ||
		!strings.Contains(e.Hint, "make the file and its directory writable") {
		t.Fatalf("got %v", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Error(diff)
	}
}

// TestRetryAfterFailedFirstWriteWorks checks that a plan after a failed one works: incomplete writes do not prevent the
// creation of a project.
func TestRetryAfterFailedFirstWriteWorks(t *testing.T) {
	fsys := afero.NewMemMapFs()
	plan := func() *Plan {
		p := New(afero.NewIOFS(fsys))
		must(t, p.Write("go.mod", []byte("module x\n"), "go.mod"))
		must(t, p.Write("PROJECT", []byte("version: kctrl/v1\n"), ""))
		return p
	}
	calls := 0
	faulty := &fault.FS{Fs: fsys, Fails: func(n int, call string) error {
		calls = n
		if strings.HasPrefix(call, "rename") && strings.HasSuffix(call, " go.mod") {
			return fault.Err
		}
		return nil
	}}
	if err := plan().Apply(t.Context(), faulty, "test"); !errors.Is(err, fault.Err) {
		t.Fatalf("got %v after %d calls", err, calls)
	}
	if left := tree(t, fsys); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
	must(t, plan().Apply(t.Context(), fsys, "test"))
	if got := tree(t, fsys); len(got) != 3 {
		t.Errorf("got %v", got)
	}
}
