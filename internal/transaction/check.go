package transaction

import (
	"cmp"
	"errors"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// check returns an error for every file whose content differs from Before in the changes, and for everything that
// prevents a new file. It sets the modes of existing files, and Dirs.
func (t *transaction) check(changes []Change) error {
	dirs, errs := parents(t.Files), []error{t.checkTarget(&Change{Path: t.journal})}
	for _, dir := range dirs {
		if info, err := t.Stat(dir); regular.IsMissing(err) {
			t.Dirs = append(t.Dirs, dir)
		} else if err == nil && !info.IsDir() {
			errs = append(errs, InTheWay(dir, info))
		}
	}
	for i, c := range changes {
		err := t.checkTarget(&changes[i])
		if _, isDir := slices.BinarySearch(dirs, c.Path); isDir && c.After != nil {
			err = refused(c.Path, "would be both a file and a directory", "name another directory")
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// parents returns the directories of files, parents first.
func parents(files []entry) []string {
	dirs := map[string]bool{}
	for _, e := range files {
		for dir := path.Dir(e.Path); dir != path.Dir(dir) && !dirs[dir]; dir = path.Dir(dir) {
			dirs[dir] = true
		}
	}
	return slices.Sorted(maps.Keys(dirs))
}

// checkTarget checks one file. If the file exists, checkTarget sets its mode in the change.
func (t *transaction) checkTarget(c *Change) error {
	info, err := t.lstat(c.Path)
	switch exists := err == nil; {
	case !utf8.ValidString(c.Path): // a journal is JSON
		return writeError(c.Path, errors.New("its name is not UTF-8"))
	case !exists && !regular.IsMissing(err):
		return writeError(c.Path, err)
	case exists && !info.Mode().IsRegular():
		return InTheWay(c.Path, info)
	case exists && c.After != nil && info.Mode().Perm()&0o200 == 0:
		return writeError(c.Path, fs.ErrPermission)
	case exists:
		c.Mode = info.Mode().Perm()
	}
	return t.checkContent(*c, c.Path)
}

// checkContent returns an error if the file of a change, or its backup, does not have the content Before.
func (t *transaction) checkContent(c Change, name string) error {
	now, err := t.hashOf(name)
	if err == nil && now != hash(c.Before) {
		err = changedError(c.Path)
	}
	return err
}

func changedError(path string) error {
	return refused(path, "has changed since the command began", "run the command again")
}

// writeError returns the error for a file that cannot be written. A *diagnostic.Error is already one.
func writeError(path string, err error) error {
	if e, ok := err.(*diagnostic.Error); ok {
		return e
	}
	return diagnostic.AtFile(path, "cannot write", err)
}

// InTheWay returns the error for an object on disk, other than the expected file or directory, that prevents writing.
func InTheWay(path string, info fs.FileInfo) *diagnostic.Error {
	types := map[fs.FileMode]string{
		0: "a file", fs.ModeDir: "a directory", fs.ModeSymlink: "a symbolic link", fs.ModeNamedPipe: "a pipe",
	}
	what := cmp.Or(types[info.Mode().Type()], "a special file")
	return refused(path, what+" is in the way", "move it away, then run the command again")
}

func refused(path, message, hint string) *diagnostic.Error {
	return &diagnostic.Error{Pos: token.Position{Filename: path}, Message: message, Hint: hint}
}
