package transaction

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Lock is a lock on a folder, which commands that write take before they read. It is advisory, and is given back by the
// operating system when the process dies.
type Lock struct{ file *os.File }

// LockOptions say how to take a lock.
type LockOptions struct {
	// Shared is for commands that only read: any number of them have the lock at once, and nobody who writes.
	Shared bool
	// Waiting is called once when the lock is not to be had for a while. It may be nil.
	Waiting func()
}

var (
	// errBusy says that somebody else has the lock, errNoLocks that the file system knows no locks on folders.
	errBusy    = errors.New("the lock is taken")
	errNoLocks = errors.New("no locks on folders")
)

// patience is how long it is not worth a word that somebody else has the lock.
const patience = time.Second

// Acquire takes the lock of a folder. It waits until it has it, or ctx ends.
//
// The lock lies on the folder itself, so that nothing of it is to be seen. Where that cannot be, as on Windows and on
// some network file systems, it lies on a file in the user's cache folder, and other users do not see it.
func Acquire(ctx context.Context, dir string, o LockOptions) (*Lock, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, folderError(dir, err)
	}
	err = wait(ctx, file, o)
	if errors.Is(err, errNoLocks) {
		file.Close()
		if file, err = standIn(dir); err != nil {
			return nil, &diagnostic.Error{
				Message: fmt.Sprintf("folder %q cannot be locked, and neither can a file in your cache folder: %s", dir, diagnostic.PlainCause(err)),
				Hint:    "set XDG_CACHE_HOME to a folder that you can write",
				Cause:   err,
			}
		}
		err = wait(ctx, file, o)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Lock{file}, nil
}

// Release gives the lock back. Releasing twice, and releasing nil, is fine.
func (l *Lock) Release() {
	if l != nil {
		l.file.Close()
	}
}

// wait asks for the lock until it is there.
func wait(ctx context.Context, file *os.File, o LockOptions) error {
	begin, notified := time.Now(), o.Waiting == nil
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if err := tryLock(file, o.Shared); !errors.Is(err, errBusy) {
			return err
		}
		if !notified && time.Since(begin) > patience {
			notified = true
			o.Waiting()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// standIn opens the file that stands for a folder which has no locks.
func standIn(dir string) (*os.File, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	locks := filepath.Join(cache, "kctrl", "locks")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(locks, fmt.Sprintf("%x", sha256.Sum256([]byte(dir)))), os.O_RDWR|os.O_CREATE, 0o600)
}
