package transaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/spf13/afero"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// tree returns the content of a directory: file contents and modes by path.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		info, err := entry.Info()
		must(t, err)
		rel, _ := filepath.Rel(dir, name)
		found[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			must(t, err)
			found[rel] += " " + string(content)
		}
		return nil
	}))
	return found
}

func openWithOutside(dir string) (*Dir, error) {
	folder, err := Open(dir)
	if err != nil {
		return nil, err
	}
	return folder.WithOutside(), nil
}

// unlinked is a directory without hard links, as on FAT.
type unlinked struct{ *Dir }

func (unlinked) Link(string, string) error { return errors.ErrUnsupported }

// start creates two directories and plans changes of all kinds in both.
func start(t *testing.T) (dir, outside string, changes []Change) {
	t.Helper()
	base := t.TempDir()
	dir, outside = filepath.Join(base, "dir"), filepath.Join(base, "outside")
	for name, content := range map[string]string{
		"dir/update": "old", "dir/sub/deep/delete": "old", "dir/keep": "kept", "dir/readonly": "old", "outside/update": "old",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(base, name), []byte(content), 0o640))
	}
	return dir, outside, []Change{
		{Path: "a/b/create", After: []byte("new"), Mode: 0o600},
		{Path: "a/empty", After: []byte{}, Mode: 0o644},
		{Path: "sub/deep/delete", Before: []byte("old")},
		{Path: "update", Before: []byte("old"), After: []byte("new")},
		{Path: outside + "/update", Before: []byte("old"), After: []byte("new")},
		{Path: outside + "/x/create", After: []byte("new"), Mode: 0o644},
	}
}

// death is the panic value of the last step of a simulated process.
type death struct{}

// applyUntil applies changes and dies before a step, counted from 1. It reports whether it reached the step.
func applyUntil(fsys afero.Fs, changes []Change, at int) (died bool, err error) {
	steps, over := 0, false
	Step = func() {
		if steps++; steps == at {
			over = true
			panic(death{})
		}
	}
	defer func() {
		Step = func() {}
		if p := recover(); p != nil {
			if _, ok := p.(death); !ok {
				panic(p)
			}
			died = over
		}
	}()
	return false, Apply(context.Background(), fsys, "test", 0o755, changes)
}

func TestDeathBeforeAnyStepIsRecovered(t *testing.T) {
	for _, links := range []bool{true, false} {
		t.Run(fmt.Sprintf("links %v", links), func(t *testing.T) {
			undone, complete := 0, 0
			for at := 1; ; at++ {
				dir, _, changes := start(t)
				before := tree(t, filepath.Dir(dir))
				folder, err := openWithOutside(dir)
				must(t, err)
				defer folder.Close()
				var fsys afero.Fs = folder
				if !links {
					fsys = unlinked{folder}
				}
				died, err := applyUntil(fsys, changes, at)
				must(t, err)
				if !died {
					break
				}
				command, files, err := Recover(fsys)
				must(t, err)
				after := tree(t, filepath.Dir(dir))
				if cmp.Equal(before, after) {
					undone++
				} else if want := "-rw------- new"; after["dir/a/b/create"] == want && after["dir/update"] == "-rw-r----- new" &&
					len(after) == len(before)+4-1 {
					complete++
				} else {
					t.Errorf("death at step %d: found %s with %d files\n%s", at, command, files, cmp.Diff(before, after))
				}
				if files > 0 && (command != "test" || files != len(changes)) {
					t.Errorf("found %s with %d files", command, files)
				}
			}
			if undone < 20 || complete < 3 {
				t.Errorf("undone %d times, complete %d times", undone, complete)
			}
		})
	}
}

func TestEditsAfterADeathAreKept(t *testing.T) {
	for at := 1; ; at++ {
		dir, _, changes := start(t)
		folder, err := openWithOutside(dir)
		must(t, err)
		defer folder.Close()
		died, err := applyUntil(folder, changes, at)
		must(t, err)
		if !died {
			return
		}
		for _, name := range []string{"update", "sub/deep/delete", "a/b/create"} {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
			// Save as an editor does: another file replaces this one.
			must(t, os.WriteFile(filepath.Join(dir, "edited"), []byte("mine"), 0o644))
			must(t, os.Rename(filepath.Join(dir, "edited"), filepath.Join(dir, name)))
		}
		_, _, err = Recover(folder)
		must(t, err)
		for name, content := range tree(t, dir) {
			if strings.Contains(name, prefix) {
				t.Errorf("step %d: %s is left", at, name)
			}
			if filepath.Base(name) == "delete" && !strings.HasSuffix(content, " mine") {
				t.Errorf("step %d: %s is %q", at, name, content)
			}
		}
		for _, name := range []string{"update", "sub/deep/delete", "a/b/create"} {
			if content, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(content) != "mine" {
				t.Errorf("step %d: %s is %q, %v", at, name, content, err)
			}
		}
	}
}

func TestMadeUpJournalReachesNothingOutside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	victim := filepath.Join(filepath.Dir(dir), "victim")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(filepath.Join(filepath.Dir(dir), "empty"), 0o755))
	must(t, os.WriteFile(victim, []byte("x"), 0o644))
	must(t, os.Symlink("..", filepath.Join(dir, "link")))
	old := time.Now().Add(-time.Hour)
	must(t, os.Chtimes(victim, old, old))
	must(t, os.Chtimes(filepath.Join(filepath.Dir(dir), "empty"), old, old))
	before := tree(t, filepath.Dir(dir))
	for _, forged := range []record{
		{Files: []entry{{victim, ".kctrl-1-0", "", hash([]byte("x"))}}},
		{Files: []entry{{"link/victim", ".kctrl-1-0", "", hash([]byte("x"))}}},
		{Dirs: []string{filepath.Join(filepath.Dir(dir), "empty")}},
		{Files: []entry{{filepath.Join(filepath.Dir(dir), "empty/x"), ".kctrl-1-0", hash([]byte("x")), ""}}},
		{Files: []entry{{"../victim", ".kctrl-1-0", "", hash([]byte("x"))}}},
		{Files: []entry{{"x", ".kctrl-1-0/../../../victim", "", hash([]byte("x"))}}},
	} {
		folder, err := openWithOutside(dir)
		must(t, err)
		for _, name := range []string{journalName, committedName} {
			journal := filepath.Join(dir, name)
			text, err := json.Marshal(forged)
			must(t, err)
			must(t, os.WriteFile(journal, append(text, '\n'), 0o644))
			_, _, err = Recover(folder)
			if os.Remove(journal) == nil && err == nil {
				t.Errorf("%s %v: the journal stays without an error", name, forged)
			}
			if diff := cmp.Diff(before, tree(t, filepath.Dir(dir))); diff != "" {
				t.Errorf("%s %v\n%s", name, forged, diff)
			}
		}
		must(t, folder.Close())
	}
}

func TestNothingIsTruncatedWhereNoFileCanBeBeside(t *testing.T) {
	dir, _, _ := start(t)
	folder, err := Open(dir)
	must(t, err)
	defer folder.Close()
	before := tree(t, dir)
	blocked := &refusing{Dir: folder, suffix: stagedSuffix}
	err = Apply(t.Context(), blocked, "test", 0o755,
		[]Change{{Path: "update", Before: []byte("old"), After: []byte("new")}})
	if err == nil || err.Error() != "update: cannot write: permission denied" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Error(diff)
	}
}

// refusing rejects new files with a suffix.
type refusing struct {
	*Dir
	suffix string
}

func (r *refusing) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	if flag&os.O_CREATE != 0 && strings.HasSuffix(name, r.suffix) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return r.Dir.OpenFile(name, flag, perm)
}

func TestEndOfContextTakesEverythingBack(t *testing.T) {
	dir, _, changes := start(t)
	before := tree(t, filepath.Dir(dir))
	folder, err := openWithOutside(dir)
	must(t, err)
	defer folder.Close()
	ctx, cancel := context.WithCancel(t.Context())
	steps := 0
	Step = func() {
		if steps++; steps == 20 {
			cancel()
		}
	}
	err = Apply(ctx, folder, "test", 0o755, changes)
	Step = func() {}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v after %d steps", err, steps)
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(dir))); diff != "" {
		t.Error(diff)
	}
}

func TestLockReportsThatItWaits(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		release, err := Acquire(t.Context(), dir, false, nil)
		must(t, err)
		time.AfterFunc(3*time.Second, release)
		notified := time.Duration(0)
		begin := time.Now()
		release, err = Acquire(t.Context(), dir, false, func() { notified = time.Since(begin) })
		must(t, err)
		defer release()
		if waited := time.Since(begin); waited < 3*time.Second || notified < time.Second || notified > 2*time.Second {
			t.Errorf("waited %v, notified after %v", waited, notified)
		}
	})
}

func TestReadersShareALock(t *testing.T) {
	dir := t.TempDir()
	release, err := Acquire(t.Context(), dir, true, nil)
	must(t, err)
	defer release()
	again, err := Acquire(t.Context(), dir, true, nil)
	must(t, err)
	again()
	again()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Acquire(ctx, dir, false, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a writer does not wait for readers: %v", err)
	}
}

// TestStandInsExcludeOneAnother locks the files that replace directories on systems that cannot lock a directory.
func TestStandInsExcludeOneAnother(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	one, err := standIn(dir)
	must(t, err)
	two, err := standIn(dir + "/.")
	must(t, err)
	must(t, wait(t.Context(), one, false, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := wait(ctx, two, true, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a reader does not wait for a writer: %v", err)
	}
	must(t, one.Close())
	must(t, wait(t.Context(), two, true, nil))
	must(t, two.Close())
}

func FuzzJournal(f *testing.F) {
	f.Add(`{"Command":"x","Dirs":["a"],"Files":[{"Path":"a/b","Temporary":".kctrl-1-0","Before":"","After":"00"}]}` + "\n")
	f.Add(`{"Command":"x`)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseRecord([]byte(text))
		if err != nil && len(r.Files) > 0 {
			t.Errorf("%q: %v, %v", text, r, err)
		}
		for _, e := range r.Files {
			for _, name := range []string{e.staged(), e.backup()} {
				if path.Dir(name) != path.Dir(e.Path) || !strings.HasPrefix(path.Base(name), prefix) {
					t.Errorf("%q: %s is not beside %s", text, name, e.Path)
				}
			}
		}
	})
}

func TestOpenRequiresADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for dir, want := range map[string]string{file: "not a directory", file + "s": "no such file or directory"} {
		_, err := Open(dir)
		if e, ok := errors.AsType[*diagnostic.Error](err); !ok || !strings.Contains(e.Message, want) || e.Hint == "" {
			t.Errorf("%s: got %v", dir, err)
		}
	}
}
