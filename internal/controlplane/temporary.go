//go:build linux || darwin

package controlplane

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// Temporary directories of instances contain keys, so they must not outlive their process for long. Each process holds
// a lock on its directory until it dies. A process that creates such a directory first removes the directories that no
// process has locked.
const (
	temporaryPrefix = "kctrl-env-"
	ownerLock       = "owner.lock"
)

// Terminating are the signals that end a program by default and that it can catch. SIGPIPE is not one of them, because
// the failed write also returns an error.
var Terminating = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM,
}

// TemporaryDir returns a new directory for an instance that ends with this process, and a function that removes it.
// It first removes the directories of killed processes, and calls notice if that fails.
func TemporaryDir(ctx context.Context, notice func(what string)) (dir string, remove func(), err error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", nil, unwritable(os.TempDir(), err)
	}
	sweep(ctx, parent, notice)
	for {
		dir, err := os.MkdirTemp(parent, temporaryPrefix)
		if err != nil {
			return "", nil, unwritable(parent, err)
		}
		unlock, err := own(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has just removed it
		}
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		return dir, func() {
			_ = os.RemoveAll(dir)
			unlock()
		}, nil
	}
}

// own locks a new directory.
func own(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, ownerLock)
	lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|os.O_EXCL))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !locked || !exists(path) { // another process has removed it before
		lock.Close()
		return nil, fs.ErrNotExist
	}
	return func() { lock.Close() }, nil
}

// sweep removes the directories of dead processes, and ends the processes that these started. It passes errors to
// notice and continues.
func sweep(ctx context.Context, parent string, notice func(string)) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // sweeping is optional, and the caller reports an unusable directory
	}
	for _, entry := range entries {
		dir := filepath.Join(parent, entry.Name())
		if !strings.HasPrefix(entry.Name(), temporaryPrefix) || !ownedByUser(dir) {
			continue
		}
		lock := flock.New(filepath.Join(dir, ownerLock), flock.SetFlag(os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK))
		locked, err := lock.TryLock()
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(dir) // its process was killed before it had a lock; Remove fails if it is not empty
		}
		if locked {
			if err := discard(ctx, dir, notice); err != nil {
				notice("cannot remove the files of a killed control plane: " + err.Error())
			}
		}
		lock.Close()
	}
}

// ownedByUser reports whether path is a directory of this user, and not a symbolic link.
func ownedByUser(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// discard removes a directory that no process has locked.
func discard(ctx context.Context, dir string, notice func(string)) error {
	if content, err := os.ReadDir(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // its owner has just removed it
	} else if len(content) == 1 {
		return os.RemoveAll(dir) // its owner is about to lock it, and will create another one
	}
	stopped, err := stopProcesses(ctx, dir)
	if err != nil {
		return err
	}
	what := "removed " + dir + " of a killed control plane"
	if len(stopped) > 0 {
		what += "; stopped " + describeProcesses(stopped)
	}
	notice(what)
	return os.RemoveAll(dir)
}
