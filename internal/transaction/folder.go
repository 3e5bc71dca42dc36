package transaction

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/spf13/afero"
)

// Folder is a folder as a file system. Names are relative to it, with slashes, and a name or a symbolic link that leads
// elsewhere is an error, unless the folder was opened with [OpenWithOutside]. It is safe for concurrent use.
type Folder struct {
	root    *os.Root
	outside bool // absolute names are allowed, and mean what they say
}

var (
	_ afero.Fs      = (*Folder)(nil)
	_ afero.Lstater = (*Folder)(nil)
	_ linker        = (*Folder)(nil)
)

// Open opens a folder. One that is not there, or is none, is a *diagnostic.Error. The caller closes it.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, folderError(dir, err)
	}
	return &Folder{root: root}, nil
}

// OpenWithOutside opens a folder for changes that may be anywhere: absolute names are those of the operating system.
func OpenWithOutside(dir string) (*Folder, error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	f.outside = true
	return f, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

func folderError(dir string, err error) error {
	e := &diagnostic.Error{
		Message: fmt.Sprintf("cannot open folder %q: %s", dir, diagnostic.PlainCause(err)),
		Hint:    diagnostic.CauseHint(err),
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

// local returns the name as the operating system spells it, and whether it is one in the folder.
func (f *Folder) local(name string) (string, bool) {
	name = filepath.FromSlash(name)
	return name, !f.outside || !filepath.IsAbs(name)
}

// Name returns what the folder was opened as.
func (f *Folder) Name() string { return f.root.Name() }

// Create is part of [afero.Fs].
func (f *Folder) Create(name string) (afero.File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open is part of [afero.Fs]. Nobody waits for a pipe or a device: it is regular.ErrNotRegular.
func (f *Folder) Open(name string) (afero.File, error) {
	file, err := regular.Check(f.open(name, regular.Flags, 0))
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return file, nil
}

// OpenFile is part of [afero.Fs].
func (f *Folder) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	file, err := f.open(name, flag, perm)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return file, nil
}

func (f *Folder) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	name, local := f.local(name)
	if !local {
		return os.OpenFile(name, flag, perm)
	}
	return f.root.OpenFile(name, flag, perm)
}

// Mkdir is part of [afero.Fs].
func (f *Folder) Mkdir(name string, perm fs.FileMode) error {
	name, local := f.local(name)
	if !local {
		return os.Mkdir(name, perm)
	}
	return f.root.Mkdir(name, perm)
}

// MkdirAll is part of [afero.Fs].
func (f *Folder) MkdirAll(name string, perm fs.FileMode) error {
	name, local := f.local(name)
	if !local {
		return os.MkdirAll(name, perm)
	}
	return f.root.MkdirAll(name, perm)
}

// Remove is part of [afero.Fs].
func (f *Folder) Remove(name string) error {
	name, local := f.local(name)
	if !local {
		return os.Remove(name)
	}
	return f.root.Remove(name)
}

// RemoveAll is part of [afero.Fs]. It works inside the folder only.
func (f *Folder) RemoveAll(name string) error { return f.root.RemoveAll(filepath.FromSlash(name)) }

// Rename is part of [afero.Fs]. Both names are in the folder, or both are absolute.
func (f *Folder) Rename(from, to string) error {
	from, local := f.local(from)
	if !local {
		return os.Rename(from, filepath.FromSlash(to))
	}
	return f.root.Rename(from, filepath.FromSlash(to))
}

// Link makes a hard link. Both names are in the folder, or both are absolute.
func (f *Folder) Link(from, to string) error {
	from, local := f.local(from)
	if !local {
		return os.Link(from, filepath.FromSlash(to))
	}
	return f.root.Link(from, filepath.FromSlash(to))
}

// Stat is part of [afero.Fs].
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	name, local := f.local(name)
	if !local {
		return os.Stat(name)
	}
	return f.root.Stat(name)
}

// LstatIfPossible is part of [afero.Lstater].
func (f *Folder) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	lstat := f.root.Lstat
	name, local := f.local(name)
	if !local {
		lstat = os.Lstat
	}
	info, err := lstat(name)
	return info, true, err
}

// Chmod is part of [afero.Fs].
func (f *Folder) Chmod(name string, mode fs.FileMode) error {
	name, local := f.local(name)
	if !local {
		return os.Chmod(name, mode)
	}
	return f.root.Chmod(name, mode)
}

// Chown is part of [afero.Fs]. It works inside the folder only.
func (f *Folder) Chown(name string, uid, gid int) error {
	return f.root.Chown(filepath.FromSlash(name), uid, gid)
}

// Chtimes is part of [afero.Fs]. It works inside the folder only.
func (f *Folder) Chtimes(name string, atime, mtime time.Time) error {
	return f.root.Chtimes(filepath.FromSlash(name), atime, mtime)
}
