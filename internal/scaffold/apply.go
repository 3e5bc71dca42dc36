package scaffold

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/spf13/afero"
)

// Apply writes the plan to the project in fs: all of it, or nothing.
//
// It first checks that every file still is as the plan saw it, then writes all new contents beside their targets, and
// only then puts them in place. Any failure before the last file is in place takes everything back: contents,
// permissions and folders. Only the removal of the old versions comes after that point; an error from there says that
// the plan is applied and which file is left over.
//
// Errors are *diagnostic.Error with the file that is to blame; errors.Is finds the cause below it, such as
// fs.ErrPermission. A file that changed since the plan was made is an error: make the plan again.
func (p *Plan) Apply(fs afero.Fs) error {
	changes := p.changes()
	if err := checkChanges(fs, changes); err != nil {
		return err
	}
	t := &transaction{fs: fs, tag: rand.Text()[:8], staged: map[string]string{}}
	if err := t.run(changes); err != nil {
		return errors.Join(append([]error{err}, t.rollBack()...)...)
	}
	return errors.Join(t.cleanUp(changes)...)
}

// transaction is the writing half of Apply. Its files lie beside their targets and begin with ".kctrl-", so that Go,
// kustomize and Apply itself take no notice of them.
type transaction struct {
	fs afero.Fs
	// tag keeps the files of two processes apart, and files those of this one.
	tag   string
	files int
	// staged holds, by target, the file with the new content.
	staged map[string]string
	// backups are the files with the old contents, which go away in the end.
	backups []backup
	// undo takes back what was done so far, to be run from the last to the first.
	undo []undoStep
}

type backup struct{ target, path string }

type undoStep struct {
	run func() error
	// failed says what the tree is like if run fails.
	failed func(err error) *diagnostic.Error
}

func (t *transaction) run(changes []Change) error {
	for _, c := range changes {
		if c.Op == Delete {
			continue
		}
		if err := t.makeFolder(path.Dir(c.Path)); err != nil {
			return writeError(c.Path, err)
		}
		if err := t.stage(c); err != nil {
			return writeError(c.Path, err)
		}
	}
	for _, c := range changes {
		if err := t.replace(c); err != nil {
			return err
		}
	}
	return nil
}

// makeFolder makes a folder and its parents where they are missing.
func (t *transaction) makeFolder(dir string) error {
	if _, err := t.fs.Stat(dir); dir == "." || err == nil {
		return nil
	}
	if err := t.makeFolder(path.Dir(dir)); err != nil {
		return err
	}
	if err := t.fs.Mkdir(dir, defaultFolderMode); err != nil {
		return err
	}
	t.onFailure(dir, "cannot be removed again", func() error { return removeIfEmpty(t.fs, dir) })
	return nil
}

// stage writes the new content of a file beside it.
func (t *transaction) stage(c Change) error {
	name := t.newName(c.Path, "new")
	f, err := t.fs.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.Mode)
	if err != nil {
		return err
	}
	t.onFailure(name, "cannot be removed again", func() error { return t.fs.Remove(name) })
	_, err = f.Write(c.After)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if c.Op == Update {
		info, err := t.fs.Stat(c.Path)
		if err != nil {
			return err
		}
		if err := t.fs.Chmod(name, info.Mode().Perm()); err != nil {
			return err
		}
	}
	t.staged[c.Path] = name
	return nil
}

// replace puts the staged content of a file in place, or takes a deleted file away.
func (t *transaction) replace(c Change) error {
	if c.Op == Create {
		if err := t.reserve(c); err != nil {
			return err
		}
	} else if err := t.setAside(c); err != nil {
		return err
	}
	if c.Op == Delete {
		return nil
	}
	if err := t.fs.Rename(t.staged[c.Path], c.Path); err != nil {
		return writeError(c.Path, err)
	}
	return nil
}

// reserve takes the name of a new file, which nobody can have taken since the check unnoticed.
func (t *transaction) reserve(c Change) error {
	f, err := t.fs.OpenFile(c.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.Mode)
	if errors.Is(err, fs.ErrExist) {
		return changedError(c.Path, "has appeared")
	}
	if err != nil {
		return writeError(c.Path, err)
	}
	t.onFailure(c.Path, "cannot be removed again", func() error { return t.fs.Remove(c.Path) })
	if err := f.Close(); err != nil {
		return writeError(c.Path, err)
	}
	return nil
}

// setAside moves the old version of a file away and makes sure that it is the one the plan knows.
func (t *transaction) setAside(c Change) error {
	old := t.newName(c.Path, "old")
	if err := t.fs.Rename(c.Path, old); err != nil {
		return writeError(c.Path, err)
	}
	t.onFailure(c.Path, fmt.Sprintf("cannot be put back, its content is in %s", old), func() error {
		return t.fs.Rename(old, c.Path)
	})
	t.backups = append(t.backups, backup{target: c.Path, path: old})
	content, err := afero.ReadFile(t.fs, old)
	if err != nil {
		return fileError(c.Path, "cannot read", err)
	}
	if !bytes.Equal(content, c.Before) {
		return changedError(c.Path, "has changed")
	}
	return nil
}

// rollBack undoes everything, the last thing first, and returns what it could not undo.
func (t *transaction) rollBack() []error {
	var errs []error
	for _, step := range slices.Backward(t.undo) {
		if err := step.run(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, step.failed(err))
		}
	}
	return errs
}

// cleanUp removes the old versions, and the folders that deleting files has emptied.
func (t *transaction) cleanUp(changes []Change) []error {
	var errs []error
	for _, b := range t.backups {
		if err := t.fs.Remove(b.path); err != nil {
			e := fileError(b.path, fmt.Sprintf("all changes are written, but the old version of %s cannot be removed", b.target), err)
			e.Hint = "remove it by hand"
			errs = append(errs, e)
		}
	}
	for _, c := range changes {
		for dir := path.Dir(c.Path); c.Op == Delete && dir != "."; dir = path.Dir(dir) {
			if err := removeIfEmpty(t.fs, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				e := fileError(dir, "all changes are written, but the empty folder cannot be removed", err)
				e.Hint = "remove it by hand"
				errs = append(errs, e)
			}
		}
	}
	return errs
}

func (t *transaction) onFailure(name, trouble string, run func() error) {
	t.undo = append(t.undo, undoStep{run: run, failed: func(err error) *diagnostic.Error {
		e := fileError(name, trouble, err)
		e.Hint = "put it right by hand before running the command again"
		return e
	}})
}

func (t *transaction) newName(target, suffix string) string {
	t.files++
	return path.Join(path.Dir(target), fmt.Sprintf(".kctrl-%s-%d.%s", t.tag, t.files, suffix))
}

func writeError(path string, err error) error { return fileError(path, "cannot write", err) }
