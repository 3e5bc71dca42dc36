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
	rooted
	outside bool // absolute names are allowed
}

// system is a file system with links.
type system interface {
	afero.Fs
	afero.Lstater
	linker
}

type linker interface {
	Link(from, to string) error
}

// Open opens a directory. If the directory is missing or is a file, Open returns a *diagnostic.Error. The caller must
// close the Dir.
func Open(dir string) (*Dir, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, dirError(dir, err)
	}
	return &Dir{rooted: rooted{root}}, nil
}

// OpenWithOutside opens a directory as a Dir that also accepts the operating system's absolute names.
func OpenWithOutside(dir string) (*Dir, error) {
	d, err := Open(dir)
	if err != nil {
		return nil, err
	}
	d.outside = true
	return d, nil
}

func dirError(dir string, err error) error {
	e := diagnostic.AtFile("", fmt.Sprintf("cannot open directory %q", dir), err)
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
func (d *Dir) at(name string) system {
	if d.outside && filepath.IsAbs(name) {
		return everywhere{}
	}
	return d.rooted
}

// These methods accept absolute names. All other methods of [afero.Fs] accept only relative names. Rename and Link take
// two relative names or two absolute names.

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
