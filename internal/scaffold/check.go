package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/spf13/afero"
)

// checkChanges reports every file that is not as the plan saw it, and everything that is in the way of a new one.
func checkChanges(fsys afero.Fs, changes []Change) error {
	var errs []error
	folders := map[string]error{}
	for _, c := range changes {
		err := checkFolder(fsys, path.Dir(c.Path), folders)
		if err == nil {
			err = checkTarget(fsys, c)
		}
		if !slices.Contains(errs, err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkFolder reports a file where a folder should be, once: known holds what was found out before.
func checkFolder(fsys afero.Fs, dir string, known map[string]error) error {
	if dir == "." {
		return nil
	}
	if err, ok := known[dir]; ok {
		return err
	}
	err := checkFolder(fsys, path.Dir(dir), known)
	if err == nil {
		info, statErr := fsys.Stat(dir)
		switch {
		case errors.Is(statErr, fs.ErrNotExist):
		case errors.Is(statErr, syscall.ENOTDIR):
			err = inTheWay(dir, "a file is where its folder should be")
		case statErr != nil:
			err = fileError(dir, "cannot write", statErr)
		case !info.IsDir():
			err = inTheWay(dir, describe(info)+" is where a folder should be")
		}
	}
	known[dir] = err
	return err
}

func checkTarget(fsys afero.Fs, c Change) error {
	info, err := lstat(fsys, c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.Op == Create {
			return nil
		}
		return changedError(c.Path, "has gone")
	case err != nil:
		return fileError(c.Path, "cannot write", err)
	case !info.Mode().IsRegular():
		return inTheWay(c.Path, describe(info)+" is in the way")
	case c.Op == Create:
		return changedError(c.Path, "has appeared")
	case c.Op == Update && info.Mode().Perm()&0o200 == 0:
		return fileError(c.Path, "cannot write", fs.ErrPermission)
	}
	content, err := afero.ReadFile(fsys, c.Path)
	if err != nil {
		return fileError(c.Path, "cannot read", err)
	}
	if !bytes.Equal(content, c.Before) {
		return changedError(c.Path, "has changed")
	}
	return nil
}

func changedError(path, what string) error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: fmt.Sprintf("%s since the command began", what),
		Hint:    "run the command again",
	}
}

// lstat describes name itself where the file system knows symbolic links.
func lstat(fsys afero.Fs, name string) (fs.FileInfo, error) {
	if l, ok := fsys.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(name)
		return info, err
	}
	return fsys.Stat(name)
}

// removeIfEmpty removes a folder unless something is in it.
func removeIfEmpty(fsys afero.Fs, dir string) error {
	entries, err := afero.ReadDir(fsys, dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return fsys.Remove(dir)
}
