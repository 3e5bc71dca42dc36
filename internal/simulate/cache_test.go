package simulate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSimulationsOfOneProjectWaitForEachOther starts a second simulation while the first one uses the directory, and
// another one afterwards.
func TestSimulationsOfOneProjectWaitForEachOther(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	first, release, err := lockWorkDir(t.Context(), "/p", func(string) { t.Error("waits without another simulation") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, _, err := lockWorkDir(ctx, "/p", func(string) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("a second simulation does not wait: %v", err)
	}
	_, other, err := lockWorkDir(t.Context(), "/q", func(string) { t.Error("waits for another project") })
	if err != nil {
		t.Fatal(err)
	}
	other()
	release()
	second, release, err := lockWorkDir(t.Context(), "/p", func(string) { t.Error("waits after the release") })
	if err != nil || second != first {
		t.Fatalf("got %s and %v, want %s", second, err, first)
	}
	release()
}

// TestProgramsOfUnusedProjectsAreDeleted uses one project more than the cache keeps. The first project was used again,
// so the cache deletes the second one.
func TestProgramsOfUnusedProjectsAreDeleted(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	use := func(project string, ago time.Duration) string {
		dir, release, err := lockWorkDir(t.Context(), project, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		if err := os.WriteFile(filepath.Join(dir, "simulation"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-ago)
		if err := os.Chtimes(dir, then, then); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	var dirs []string
	for i := range projectsKept {
		dirs = append(dirs, use(fmt.Sprint("/p", i), time.Hour-time.Duration(i)*time.Minute))
	}
	use("/p0", 0)
	use("/new", 0)
	for i, dir := range dirs {
		if _, err := os.Stat(dir); (err == nil) != (i != 1) {
			t.Errorf("project %d: %v", i, err)
		}
	}
}
