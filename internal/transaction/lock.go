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

// Lock is an advisory lock on a directory. Commands that write acquire it before they read. The operating system
// releases it when the process dies.
type Lock struct{ file *os.File }

// LockOptions configure [Acquire].
type LockOptions struct {
	// Shared is for commands that only read. Any number of them can hold the lock at the same time, but not while a
	// writing command holds it.
	Shared bool
	// Waiting is called once if Acquire has to wait for the lock for more than a second. It may be nil.
	Waiting func()
}

// errBusy means that another process has the lock. errNoLocks means that the file system has no locks on directories.
var errBusy, errNoLocks = errors.New("the lock is taken"), errors.New("no locks on directories")

// Acquire acquires the lock of a directory. It waits until the lock is available or ctx ends.
//
// Acquire locks the directory itself, so that no lock file remains. If the file system does not support that, as on
// Windows and on some network file systems, it locks a file in the user's cache directory instead. Such a lock does not
// exclude other users.
func Acquire(ctx context.Context, dir string, o LockOptions) (*Lock, error) {
	file, err := os.Open(dir)
	if err != nil {
		return nil, dirError(dir, err)
	}
	if err = wait(ctx, file, o); errors.Is(err, errNoLocks) {
		file.Close()
		if file, err = standIn(dir); err != nil {
			e := diagnostic.AtFile("",
				fmt.Sprintf("directory %q cannot be locked, and neither can a file in your cache directory", dir), err)
			e.Hint = "set XDG_CACHE_HOME to a directory that you can write"
			return nil, e
		}
		err = wait(ctx, file, o)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return &Lock{file}, nil
}

// Release releases the lock. The caller may call it several times, and on nil.
func (l *Lock) Release() {
	if l != nil {
		l.file.Close()
	}
}

// wait tries to take the lock until it succeeds or ctx ends.
func wait(ctx context.Context, file *os.File, o LockOptions) error {
	begin := time.Now()
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		if err := tryLock(file, o.Shared); !errors.Is(err, errBusy) {
			return err
		}
		if o.Waiting != nil && time.Since(begin) > time.Second {
			o.Waiting()
			o.Waiting = nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

// standIn opens the file that Acquire locks instead of a directory that cannot be locked.
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
