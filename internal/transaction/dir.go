package transaction

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// Acquire acquires the advisory lock of a directory. It waits until the lock is available or ctx ends, and calls
// waiting once if this takes more than a second. Any number of commands that only read can share the lock, but not
// while a writing command holds it. The caller may call release several times. The operating system releases the lock
// when the process dies.
//
// Acquire locks the directory itself, so that no lock file remains. If the file system does not support that, as on
// Windows and on some network file systems, it locks a file in the user's cache directory instead. Such a lock does not
// exclude other users.
func Acquire(ctx context.Context, dir string, shared bool, waiting func()) (release func(), err error) {
	folder, err := Open(dir)
	if err != nil {
		return nil, err
	}
	folder.Close()
	lock := flock.New(dir, flock.SetFlag(os.O_RDONLY))
	if err = wait(ctx, lock, shared, waiting); err != nil && ctx.Err() == nil && !errors.Is(err, syscall.EINTR) {
		if lock, err = standIn(dir); err == nil {
			err = wait(ctx, lock, shared, waiting)
		}
	}
	switch {
	case err == nil:
		return func() { lock.Close() }, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	e := diagnostic.AtFile("", fmt.Sprintf("cannot lock directory %q or a file in your cache directory", dir), err)
	e.Hint = "set XDG_CACHE_HOME to a directory that you can write"
	return nil, e
}

// wait tries to lock a file until it succeeds or ctx ends.
func wait(ctx context.Context, lock *flock.Flock, shared bool, waiting func()) error {
	const pause = 20 * time.Millisecond
	try := lock.TryLockContext
	if shared {
		try = lock.TryRLockContext
	}
	first, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := try(first, pause)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		waiting()
		_, err = try(ctx, pause)
	}
	return err
}

// standIn returns the file that Acquire locks instead of a directory that cannot be locked.
func standIn(dir string) (*flock.Flock, error) {
	dir, err := filepath.Abs(dir)
	cache, cacheErr := os.UserCacheDir()
	if err := errors.Join(err, cacheErr); err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	name := filepath.Join(cache, "kctrl", "locks", fmt.Sprintf("%x", sha256.Sum256([]byte(dir))))
	return flock.New(name), os.MkdirAll(filepath.Dir(name), 0o700)
}

// Dir is a directory as a file system. Names are relative to it and use slashes. It returns an error for a name or a
// symbolic link that leads outside, unless [Dir.WithOutside] returned the Dir. It is safe for concurrent use.
type Dir struct {
	rooted
	outside bool // absolute names are allowed
}

// system is a file system with links.
type system interface {
	afero.Fs
	afero.Lstater
	Link(from, to string) error
}

// Open opens an existing directory. Its errors are of type *diagnostic.Error. The caller must close the Dir.
func Open(dir string) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		e := diagnostic.AtFile("", fmt.Sprintf("cannot open directory %q", dir), err)
		e.Hint = cmp.Or(e.Hint, "create it first, or name another with -C")
		return nil, e
	}
	return &Dir{rooted: rooted{root}}, nil
}

// WithOutside returns the directory as a Dir that also accepts the operating system's absolute names.
func (d *Dir) WithOutside() *Dir { return &Dir{d.rooted, true} }

// at returns the file system that has a name.
func (d *Dir) at(name string) system {
	if d.outside && filepath.IsAbs(name) {
		return everywhere{}
	}
	return d.rooted
}

// All other methods of [afero.Fs] accept only relative names. Rename and Link take two names of the same kind.

func (d *Dir) Open(name string) (afero.File, error)                { return d.at(name).Open(name) }
func (d *Dir) Mkdir(name string, perm fs.FileMode) error           { return d.at(name).Mkdir(name, perm) }
func (d *Dir) Remove(name string) error                            { return d.at(name).Remove(name) }
func (d *Dir) Rename(from, to string) error                        { return d.at(from).Rename(from, to) }
func (d *Dir) Link(from, to string) error                          { return d.at(from).Link(from, to) }
func (d *Dir) Stat(name string) (fs.FileInfo, error)               { return d.at(name).Stat(name) }
func (d *Dir) Chmod(name string, mode fs.FileMode) error           { return d.at(name).Chmod(name, mode) }
func (d *Dir) LstatIfPossible(n string) (fs.FileInfo, bool, error) { return d.at(n).LstatIfPossible(n) }
func (d *Dir) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	return d.at(name).OpenFile(name, flag, perm)
}

// rooted is a directory that no name can leave.
type rooted struct{ *os.Root }

func (r rooted) Create(name string) (afero.File, error) { return r.Root.Create(name) }

// Open does not block on a pipe or a device: it returns regular.ErrNotRegular.
func (r rooted) Open(name string) (afero.File, error) {
	return regular.Check(r.Root.OpenFile(name, regular.Flags, 0))
}

func (r rooted) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	return r.Root.OpenFile(name, flag, perm)
}

func (r rooted) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	info, err := r.Lstat(name)
	return info, true, err
}

// everywhere is the file system of the operating system.
type everywhere struct{ afero.OsFs }

func (everywhere) Open(name string) (afero.File, error) { return regular.Open(name) }
func (everywhere) Link(from, to string) error           { return os.Link(from, to) }
