package transaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// Dir is a directory as a file system. Names are relative to it and use slashes. It returns an error for a name or a
// symbolic link that leads outside, unless [OpenWithOutside] opened the directory. It is safe for concurrent use.
type Dir struct {
	system  // for relative names
	root    *os.Root
	outside bool // absolute names are allowed
}

// system is a file system with links.
type system interface {
	afero.Fs
	afero.Lstater
	linker
}

// Open opens a directory. If the directory is missing or is a file, Open returns a *diagnostic.Error. The caller must
// close the Dir.
func Open(dir string) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, dirError(dir, err)
	}
	return &Dir{system: rooted{root}, root: root}, nil
}

// OpenWithOutside opens a directory as a Dir that also accepts the operating system's absolute names.
func OpenWithOutside(dir string) (*Dir, error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	f.outside = true
	return f, nil
}

// Close closes the directory.
func (f *Dir) Close() error { return f.root.Close() }

func dirError(dir string, err error) error {
	e := &diagnostic.Error{
		Message: fmt.Sprintf("cannot open directory %q: %s", dir, diagnostic.PlainCause(err)),
		Hint:    diagnostic.CauseHint(err),
		Cause:   err,
	}
	info, statErr := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Message, e.Hint = fmt.Sprintf("directory %q does not exist", dir), "create it first, or name another with -C"
	case statErr == nil && !info.IsDir():
		e.Message, e.Hint = fmt.Sprintf("%q is not a directory", dir), "name a directory with -C"
	}
	return e
}

// at returns the file system that has a name.
func (f *Dir) at(name string) system {
	if f.outside && filepath.IsAbs(name) {
		return everywhere{}
	}
	return f.system
}

// These methods implement [afero.Fs] and [afero.Lstater], and accept absolute names. All other methods accept only
// relative names. Rename and Link take two relative names or two absolute names.

func (f *Dir) Open(name string) (afero.File, error) { return f.at(name).Open(name) }

func (f *Dir) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	return f.at(name).OpenFile(name, flag, perm)
}

func (f *Dir) Mkdir(name string, perm fs.FileMode) error { return f.at(name).Mkdir(name, perm) }
func (f *Dir) Remove(name string) error                  { return f.at(name).Remove(name) }
func (f *Dir) Rename(from, to string) error              { return f.at(from).Rename(from, to) }
func (f *Dir) Link(from, to string) error                { return f.at(from).Link(from, to) }
func (f *Dir) Stat(name string) (fs.FileInfo, error)     { return f.at(name).Stat(name) }
func (f *Dir) Chmod(name string, mode fs.FileMode) error { return f.at(name).Chmod(name, mode) }

func (f *Dir) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	return f.at(name).LstatIfPossible(name)
}

// rooted is a directory that no name can leave.
type rooted struct{ *os.Root }

func (r rooted) Create(name string) (afero.File, error) {
	return r.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open does not block on a pipe or a device: it returns regular.ErrNotRegular.
func (r rooted) Open(name string) (afero.File, error) {
	return opened(regular.Check(r.Root.OpenFile(name, regular.Flags, 0)))
}

func (r rooted) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	return opened(r.Root.OpenFile(name, flag, perm))
}

func (r rooted) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	info, err := r.Lstat(name)
	return info, true, err
}

// opened returns a nil interface if err is not nil, instead of an interface that contains a nil *os.File.
func opened(file *os.File, err error) (afero.File, error) {
	if err != nil {
		return nil, err
	}
	return file, nil
}

// everywhere is the file system of the operating system.
type everywhere struct{ afero.OsFs }

func (everywhere) Open(name string) (afero.File, error) { return opened(regular.Open(name)) }
func (everywhere) Link(from, to string) error           { return os.Link(from, to) }
