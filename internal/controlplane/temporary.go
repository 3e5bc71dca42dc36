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

	"golang.org/x/sys/unix"
)

// Temporary folders of instances hold keys, so none may outlive its process for long. Each has a lock that its process
// holds until it dies, however it dies; whoever makes the next folder removes those that nobody holds.
const (
	temporaryPrefix = "kctrl-env-"
	ownerLock       = "owner.lock"
)

// Terminating are the signals that end a program which does not ask for them, and that it can ask for. SIGPIPE is none of
// them: it says what the write that has raised it says.
var Terminating = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM,
	syscall.SIGALRM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM,
}

// TemporaryFolder returns a new folder for an instance that ends with this process, and what removes it. It removes what
// processes that were killed have left, and tells notice.
func TemporaryFolder(ctx context.Context, notice func(what string)) (folder string, remove func(), err error) {
	parent, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		return "", nil, unwritable(os.TempDir(), err)
	}
	sweep(ctx, parent, notice)
	for {
		folder, err := os.MkdirTemp(parent, temporaryPrefix)
		if err != nil {
			return "", nil, unwritable(parent, err)
		}
		unlock, err := own(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue // another process has just swept it away
		}
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(folder))
		}
		return folder, func() {
			_ = os.RemoveAll(folder)
			unlock()
		}, nil
	}
}

// own takes the lock of a new folder.
func own(folder string) (unlock func(), err error) {
	path := filepath.Join(folder, ownerLock)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if !tryLock(file) || !exists(path) { // a sweep was faster
		file.Close()
		return nil, fs.ErrNotExist
	}
	return func() { file.Close() }, nil
}

// sweep removes the folders of processes that are dead, with what these have left running. What it cannot remove is
// told, and is no reason not to go on.
func sweep(ctx context.Context, parent string, notice func(string)) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // others may have more to say about a folder for all
	}
	for _, entry := range entries {
		folder := filepath.Join(parent, entry.Name())
		if !strings.HasPrefix(entry.Name(), temporaryPrefix) || !ownedByUser(folder) {
			continue
		}
		file, err := os.OpenFile(filepath.Join(folder, ownerLock), os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(folder) // of one that was killed before it had a lock; only if it is empty
		}
		if err != nil {
			continue
		}
		if tryLock(file) {
			if err := discard(ctx, folder, notice); err != nil {
				notice("what a control plane that was killed has left is still there: " + err.Error())
			}
		}
		file.Close()
	}
}

// ownedByUser reports whether path is a folder of this user's, and no link to one.
func ownedByUser(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// discard removes a folder that nobody holds.
func discard(ctx context.Context, folder string, notice func(string)) error {
	if content, err := os.ReadDir(folder); errors.Is(err, fs.ErrNotExist) {
		return nil // its owner has just removed it
	} else if len(content) == 1 {
		return os.RemoveAll(folder) // its owner is about to lock it, and will make another
	}
	left, err := processesOf(folder)
	if err != nil {
		return err
	}
	for i := range left {
		if err := stopProcess(ctx, left[len(left)-1-i]); err != nil {
			return err
		}
	}
	what := "removed " + folder + ", which a control plane that was killed has left"
	if len(left) > 0 {
		what += "; stopped " + describeProcesses(left)
	}
	notice(what)
	return os.RemoveAll(folder)
}
