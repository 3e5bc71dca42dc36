package transaction

import (
	"bytes"
	"errors"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// check returns an error for every file whose content differs from Before in the changes, and for everything that
// prevents a new file. It sets the modes of existing files, and returns the missing directories, parents first.
func (t *transaction) check(changes []Change) (missing []string, err error) {
	parents := map[string]bool{}
	for _, c := range changes {
		for dir := path.Dir(c.Path); dir != path.Dir(dir) && !parents[dir]; dir = path.Dir(dir) {
			parents[dir] = true
		}
	}
	var errs []error
	for _, dir := range slices.Sorted(maps.Keys(parents)) {
		info, err := t.Stat(dir)
		switch {
		case regular.IsMissing(err):
			missing = append(missing, dir)
		case err != nil:
			errs = append(errs, writeError(dir, err))
		case !info.IsDir():
			errs = append(errs, InTheWay(dir, Describe(info)+" is where a directory should be", nil))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	errs = append(errs, t.checkTarget(&Change{Path: t.journal}))
	for i, c := range changes {
		err := t.checkTarget(&changes[i])
		switch {
		case !utf8.ValidString(c.Path): // a journal is JSON
			err = writeError(c.Path, errors.New("its name is not UTF-8"))
		case c.After != nil && parents[c.Path]:
			err = InTheWay(c.Path, "would be both a file and a directory", nil)
		}
		errs = append(errs, err)
	}
	return missing, errors.Join(errs...)
}

// checkTarget checks one file. If the file exists, checkTarget sets its mode in the change.
func (t *transaction) checkTarget(c *Change) error {
	info, err := t.lstat(c.Path)
	switch isMissing := errors.Is(err, fs.ErrNotExist); {
	case isMissing && c.Before == nil:
		return nil
	case isMissing:
		return changedError(c.Path, "has gone")
	case err != nil:
		return writeError(c.Path, err)
	case !info.Mode().IsRegular():
		return InTheWay(c.Path, Describe(info)+" is in the way", nil)
	case c.Before == nil:
		return changedError(c.Path, "has appeared")
	case c.After != nil && info.Mode().Perm()&0o200 == 0:
		return writeError(c.Path, fs.ErrPermission)
	}
	c.Mode = info.Mode().Perm()
	return t.checkContent(*c, c.Path)
}

// checkContent returns an error if the file of a change, or its backup, does not have the content Before.
func (t *transaction) checkContent(c Change, name string) error {
	content, err := afero.ReadFile(t, name)
	if err != nil {
		return diagnostic.AtFile(c.Path, "cannot read", err)
	}
	if !bytes.Equal(content, c.Before) {
		return changedError(c.Path, "has changed")
	}
	return nil
}

// writeError returns the error for a file that cannot be written. A *diagnostic.Error is already one.
func writeError(path string, err error) error {
	if e, ok := err.(*diagnostic.Error); ok {
		return e
	}
	return diagnostic.AtFile(path, "cannot write", err)
}

func changedError(path, problem string) error {
	err := InTheWay(path, problem+" since the command began", nil)
	err.Hint = "run the command again"
	return err
}

// InTheWay returns the error for an object on disk that prevents writing a file. cause may be nil.
func InTheWay(path, message string, cause error) *diagnostic.Error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: message,
		Hint:    "move it away, then run the command again",
		Cause:   cause,
	}
}

// Describe returns the type of a file, such as "a directory" or "a symbolic link".
func Describe(info fs.FileInfo) string {
	switch info.Mode().Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a directory"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a pipe"
	}
	return "a special file"
}
