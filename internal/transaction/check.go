package transaction

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"syscall"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/spf13/afero"
)

// check returns an error for every file whose content differs from Before in the changes, and for everything that
// prevents a new file.
func (d disk) check(changes []Change) error {
	var errs []error
	directories, needed := map[string]error{}, map[string]bool{}
	for _, c := range changes {
		for dir := path.Dir(c.Path); c.After != nil && !needed[dir]; dir = path.Dir(dir) {
			needed[dir] = true
		}
	}
	for _, c := range changes {
		err := d.checkDir(path.Dir(c.Path), directories)
		switch {
		case err != nil:
		case !utf8.ValidString(c.Path): // a journal is JSON
			err = writeError(c.Path, errors.New("its name is not UTF-8"))
		case c.After != nil && needed[c.Path]:
			err = InTheWay(c.Path, "would be both a file and a directory")
		default:
			err = d.checkTarget(c)
		}
		if !slices.Contains(errs, err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkDir reports a file at the path of a directory, once for each path. known contains the results of earlier calls.
func (d disk) checkDir(dir string, known map[string]error) error {
	if dir == path.Dir(dir) {
		return nil
	}
	if err, ok := known[dir]; ok {
		return err
	}
	err := d.checkDir(path.Dir(dir), known)
	if err == nil {
		info, statErr := d.Stat(dir)
		switch {
		case errors.Is(statErr, fs.ErrNotExist):
		case errors.Is(statErr, syscall.ENOTDIR):
			err = NoDir(dir)
		case statErr != nil:
			err = writeError(dir, statErr)
		case !info.IsDir():
			err = InTheWay(dir, Describe(info)+" is where a directory should be")
		}
	}
	known[dir] = err
	return err
}

func (d disk) checkTarget(c Change) error {
	info, err := d.lstat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.Before == nil {
			return nil
		}
		return changedError(c.Path, "has gone")
	case err != nil:
		return writeError(c.Path, err)
	case !info.Mode().IsRegular():
		return InTheWay(c.Path, Describe(info)+" is in the way")
	case c.Before == nil:
		return changedError(c.Path, "has appeared")
	case c.After != nil && info.Mode().Perm()&0o200 == 0:
		return writeError(c.Path, fs.ErrPermission)
	}
	content, err := afero.ReadFile(d, c.Path)
	if err != nil {
		return diagnostic.AtFile(c.Path, "cannot read", err)
	}
	if !bytes.Equal(content, c.Before) {
		return changedError(c.Path, "has changed")
	}
	return nil
}

// InTheWay returns the error for an object on disk that prevents writing a file.
func InTheWay(path, message string) error { return inTheWay(path, message, nil) }

// NoDir returns the error for a path that has a file where a directory is required. It wraps syscall.ENOTDIR.
func NoDir(path string) error {
	return inTheWay(path, "a file is where its directory should be", syscall.ENOTDIR)
}

func inTheWay(path, message string, cause error) error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: message,
		Hint:    "move it away, then run the command again",
		Cause:   cause,
	}
}

// Describe returns the type of a file, such as "a directory" or "a symbolic link".
func Describe(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return "a directory"
	case mode.IsRegular():
		return "a file"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a special file"
}
