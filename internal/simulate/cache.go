package simulate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/transaction"
)

// projectsKept is the number of projects whose programs the cache keeps. A program takes about 100 MB.
const projectsKept = 10

// lockWorkDir creates the directory for a project's files in the user's cache, locks it, and deletes the directories of
// projects that were not used recently. While another command has the lock, it calls step and waits. The caller calls
// release when it no longer uses the directory.
func lockWorkDir(ctx context.Context, project string, step func(string)) (dir string, release func(), err error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", nil, &diagnostic.Error{Message: err.Error(), Hint: "set HOME or XDG_CACHE_HOME", Cause: err}
	}
	hash := sha256.Sum256([]byte(project))
	dir = filepath.Join(user, "kctrl", "simulations", hex.EncodeToString(hash[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	waiting := func() { step("waiting for another simulation of this project") }
	if release, err = transaction.Acquire(ctx, dir, false, waiting); err != nil {
		return "", nil, err
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now) // on an error, the directory only counts as older
	deleteUnused(filepath.Dir(dir))
	return dir, release, nil
}

// deleteUnused deletes all directories in dir except the projectsKept ones that were used last. It ignores errors,
// because the next command tries again.
func deleteUnused(dir string) {
	projects, _ := os.ReadDir(dir)
	used := func(project os.DirEntry) int64 {
		info, err := project.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(projects, func(a, b os.DirEntry) int { return cmp.Compare(used(b), used(a)) })
	for _, project := range projects[min(projectsKept, len(projects)):] {
		_ = os.RemoveAll(filepath.Join(dir, project.Name()))
	}
}
