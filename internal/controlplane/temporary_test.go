//go:build linux || darwin

package controlplane

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestDirectoriesOfEndedProcessesAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var notices []string
	notice := func(what string) { notices = append(notices, what) }
	living, remove, err := TemporaryDir(t.Context(), notice)
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Dir(living)
	dead, empty, foreign := filepath.Join(parent, temporaryPrefix+"1"), filepath.Join(parent, temporaryPrefix+"2"),
		filepath.Join(parent, temporaryPrefix+"3")
	elsewhere := t.TempDir()
	write(t, filepath.Join(dead, ownerLock))
	write(t, filepath.Join(dead, "etcd.key"))
	write(t, filepath.Join(foreign, "no lock, so not one of these"))
	write(t, filepath.Join(elsewhere, ownerLock))
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, temporaryPrefix+"4")); err != nil {
		t.Fatal(err)
	}
	_, removeNext, err := TemporaryDir(t.Context(), notice)
	if err != nil {
		t.Fatal(err)
	}
	removeNext()
	for path, want := range map[string]bool{living: true, dead: false, empty: false, foreign: true,
		filepath.Join(elsewhere, ownerLock): true} {
		if exists(path) != want {
			t.Errorf("%s exists: %v, want %v", path, !want, want)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], dead) {
		t.Errorf("said %q", notices)
	}
	remove()
	if exists(living) {
		t.Error("a folder that was removed is there")
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestConcurrentDirectoriesStay creates directories while others are removed, and checks that no new directory is
// removed.
func TestConcurrentDirectoriesStay(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				dir, remove, err := TemporaryDir(t.Context(), func(what string) { t.Error(what) })
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(dir, "etcd.key"), nil, 0o600); err != nil {
					t.Error(err)
				}
				remove()
			}
		})
	}
	all.Wait()
}
