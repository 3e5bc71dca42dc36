package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

func TestBurstOfChangesIsOneRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		changes := make(chan struct{}, 1)
		var runs atomic.Int32
		ended := make(chan error)
		go func() {
			ended <- loop(ctx, changes, nil, func(context.Context) error { runs.Add(1); return nil })
		}()
		synctest.Wait()
		if runs.Load() != 1 {
			t.Fatalf("%d runs at the start, want 1", runs.Load())
		}
		for range 5 {
			changes <- struct{}{}
			time.Sleep(quiet / 2)
		}
		synctest.Wait()
		if runs.Load() != 1 {
			t.Errorf("%d runs within a burst, want 1", runs.Load())
		}
		time.Sleep(2 * quiet)
		synctest.Wait()
		if runs.Load() != 2 {
			t.Errorf("%d runs after a burst, want 2", runs.Load())
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the end of the context is an error: %v", err)
		}
	})
}

func TestEndlessChangesAreNotWaitedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		var editing sync.WaitGroup
		editing.Go(func() {
			for ctx.Err() == nil {
				select {
				case changes <- struct{}{}:
				case <-ctx.Done():
				}
				time.Sleep(quiet / 2)
			}
		})
		start := time.Now()
		awaitQuiet(ctx, changes)
		if waited := time.Since(start); waited != patience {
			t.Errorf("waited %v, want %v", waited, patience)
		}
		cancel()
		editing.Wait()
	})
}

func TestErrorEndsWatching(t *testing.T) {
	want := errors.New("wrong")
	err := Run(t.Context(), Options{Dirs: []string{t.TempDir()}, Run: func(context.Context) (More, error) {
		return More{},
			want
	}})
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	err = Run(t.Context(), Options{Dirs: []string{filepath.Join(t.TempDir(), "none")}})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v for a folder that is not there", err)
	}
}

func TestFilesAreWatched(t *testing.T) {
	dir := t.TempDir()
	watchChanges(t, dir, dir)
}

func TestTargetOfSymbolicLinkIsWatched(t *testing.T) {
	dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	watchChanges(t, dir, link)
}

// watchChanges changes dir and other directories, while Run watches dir under the name watched. Each change must cause
// a run.
func watchChanges(t *testing.T, dir, watched string) {
	other, above := t.TempDir(), t.TempDir()
	makeDir(t, dir, "api/v1")
	makeDir(t, dir, ".git")
	steps := []func(){
		func() { writeFile(t, dir, "go.mod") },
		func() { writeFile(t, dir, "api/v1/types.go") },
		func() { makeDir(t, dir, "new/deep") },
		func() { writeFile(t, dir, "new/deep/file.go") },
		func() { writeFile(t, other, "shared.go") },
		func() { writeFile(t, above, "go.work") },
		func() {
			if err := os.Remove(filepath.Join(dir, "api/v1/types.go")); err != nil {
				t.Error(err)
			}
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := 0
	err := Run(ctx, Options{Dirs: []string{watched}, Run: func(context.Context) (More, error) {
		if done == len(steps) {
			cancel()
			return More{}, nil
		}
		// A step may cause several runs; the next step follows the first of them.
		go steps[done]()
		done++
		return More{Dirs: []string{other}, Files: []string{filepath.Join(above, "go.work")}}, nil
	}})
	if err != nil || done != len(steps) {
		t.Errorf("%d of %d changes were seen, %v", done, len(steps), err)
	}
}

func TestNeighboursOfWatchedFilesDoNotMatter(t *testing.T) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	w := &directories{watcher: watcher, whole: map[string]bool{}, files: map[string]bool{}}
	dir, above := t.TempDir(), t.TempDir()
	if err := errors.Join(w.add(dir), w.addFile(filepath.Join(above, "go.work"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		filepath.Join(dir, "any.go"): true, filepath.Join(above, "go.work"): true,
		filepath.Join(above, "any.go"): false, filepath.Join(above, "folder"): false,
	} {
		if got := w.watches(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestWhatMatters(t *testing.T) {
	for name, want := range map[string]bool{
		"types.go": true, "go.mod": true, "PROJECT": true, "role.yaml": true,
		".kctrl-x-1.new": false, ".types.go.swp": false, "types.go~": false,
	} {
		if got := matters(fsnotify.Event{Name: filepath.Join("p", name), Op: fsnotify.Write}); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if matters(fsnotify.Event{Name: "types.go", Op: fsnotify.Chmod}) {
		t.Error("a change of permissions matters")
	}
	for name, want := range map[string]bool{"api": false, "vendor": false, ".git": true, "_old": true, "testdata": true} {
		if got := skipped(name); got != want {
			t.Errorf("%s is skipped: %v, want %v", name, got, want)
		}
	}
}

func makeDir(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Error(err)
	}
}

func writeFile(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(time.Now().String()), 0o600); err != nil {
		t.Error(err)
	}
}
