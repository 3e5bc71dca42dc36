package scaffold

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/spf13/afero"
)

// OpenRoot opens the folder dir as a file system that nothing leads out of: names are relative to it, and a name or a
// symbolic link that points elsewhere is an error. Close the closer when done. A folder that does not exist is a
// *diagnostic.Error.
func OpenRoot(dir string) (afero.Fs, io.Closer, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, rootError(dir, err)
	}
	return rootFs{root}, root, nil
}

func rootError(dir string, err error) error {
	e := &diagnostic.Error{
		Message: fmt.Sprintf("cannot open folder %q: %s", dir, plainCause(err)),
		Hint:    causeHint(err),
		Cause:   err,
	}
	info, statErr := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Message, e.Hint = fmt.Sprintf("folder %q does not exist", dir), "create it first, or name another with -C"
	case statErr == nil && !info.IsDir():
		e.Message, e.Hint = fmt.Sprintf("%q is not a folder", dir), "name a folder with -C"
	}
	return e
}

// rootFs is an os.Root as an afero.Fs.
type rootFs struct{ root *os.Root }

var (
	_ afero.Fs      = rootFs{}
	_ afero.Lstater = rootFs{}
)

func (r rootFs) Name() string { return "root " + r.root.Name() }

func (r rootFs) Create(name string) (afero.File, error) {
	return file(r.root.Create(filepath.FromSlash(name)))
}

func (r rootFs) Open(name string) (afero.File, error) {
	return file(r.root.Open(filepath.FromSlash(name)))
}

func (r rootFs) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	return file(r.root.OpenFile(filepath.FromSlash(name), flag, perm))
}

// file keeps a nil *os.File from becoming an afero.File that is not nil.
func file(f *os.File, err error) (afero.File, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (r rootFs) Mkdir(name string, perm fs.FileMode) error {
	return r.root.Mkdir(filepath.FromSlash(name), perm)
}

func (r rootFs) MkdirAll(name string, perm fs.FileMode) error {
	return r.root.MkdirAll(filepath.FromSlash(name), perm)
}

func (r rootFs) Remove(name string) error { return r.root.Remove(filepath.FromSlash(name)) }

func (r rootFs) RemoveAll(name string) error { return r.root.RemoveAll(filepath.FromSlash(name)) }

func (r rootFs) Rename(from, to string) error {
	return r.root.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

func (r rootFs) Stat(name string) (fs.FileInfo, error) {
	return r.root.Stat(filepath.FromSlash(name))
}

func (r rootFs) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	info, err := r.root.Lstat(filepath.FromSlash(name))
	return info, true, err
}

func (r rootFs) Chmod(name string, mode fs.FileMode) error {
	return r.root.Chmod(filepath.FromSlash(name), mode)
}

func (r rootFs) Chown(name string, uid, gid int) error {
	return r.root.Chown(filepath.FromSlash(name), uid, gid)
}

func (r rootFs) Chtimes(name string, atime, mtime time.Time) error {
	return r.root.Chtimes(filepath.FromSlash(name), atime, mtime)
}
