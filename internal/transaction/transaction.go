package transaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/spf13/afero"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// Change is the change of one file.
type Change struct {
	// Path is relative to the directory, with slashes, or absolute if the file system accepts absolute names.
	Path string
	// Before is the current content; it is nil if the file does not exist. After is the new content; it is nil to remove
	// the file. Apply does not modify either.
	Before, After []byte
	// Mode has the permissions of a new file, before the umask. An existing file keeps its permissions.
	Mode fs.FileMode
}

// Options are the options of [Apply].
type Options struct {
	// Command is the writing command in messages for users, such as "kctrl init".
	Command string
	// FolderMode has the permissions of new directories, before the umask; 0 means 0o755.
	FolderMode fs.FileMode
}

// Apply makes all changes, or none. The caller must hold the lock of the directory, and must have called [Recover].
//
// Apply first checks that every file has the content Before. If writing any file fails or ctx ends, Apply rolls back
// all changes of contents, permissions and directories. After it has written all files, Apply removes the old files. An
// error in that last step states that the changes are complete, and names the remaining file.
//
// An error is a *diagnostic.Error about the file that caused it, or the cause of ctx. errors.Is finds the underlying
// error, such as fs.ErrPermission.
func Apply(ctx context.Context, fsys afero.Fs, o Options, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	d := disk{fsys}
	if err := d.check(changes); err != nil {
		return err
	}
	spare, err := holdSpare()
	defer spare.release()
	if err != nil {
		return writeError(changes[0].Path, err)
	}
	t := newTransaction(d, o, changes)
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.run(ctx, o, changes); err != nil {
		spare.release()
		return errors.Join(append([]error{err}, t.undo()...)...)
	}
	return errors.Join(t.finish()...)
}

// transaction is a set of changes while they are written to the disk. Its temporary files are beside their targets,
// with names that begin with ".kctrl-", so that Go, kustomize and kctrl ignore them.
type transaction struct {
	disk
	// journal is the path of the journal, which contains the record.
	journal string
	// since is the time of a journal that Recover read; it is zero for a transaction of this process.
	since time.Time
	record
}

// record is the content of a journal.
type record struct {
	Command string
	// Dirs are the directories that were missing when the transaction began, parents first.
	Dirs  []string `json:",omitempty"`
	Files []entry
}

// entry is one file of a transaction.
type entry struct {
	Path string
	// Temporary is the base name of the files beside Path, without their suffixes.
	Temporary string
	// Before and After are the hashes of the contents; a hash is empty for a missing file.
	Before, After string
}

// staged is the name of the new content until it is at its final path. backup is the name of the old content after
// that.
func (e entry) staged() string { return path.Join(path.Dir(e.Path), e.Temporary+stagedSuffix) }
func (e entry) backup() string { return path.Join(path.Dir(e.Path), e.Temporary+backupSuffix) }

func newTransaction(d disk, o Options, changes []Change) *transaction {
	t := &transaction{disk: d, record: record{Command: o.Command}}
	seen := map[string]bool{".": true}
	for i, c := range changes {
		if c.After != nil {
			t.Dirs = append(t.Dirs, d.missingDirs(path.Dir(c.Path), seen)...)
		}
		temporary := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), i)
		t.Files = append(t.Files, entry{Path: c.Path, Temporary: temporary, Before: hash(c.Before), After: hash(c.After)})
	}
	return t
}

// missingDirs returns the missing parents of dir, and dir itself if it is missing, except directories in seen. Parents
// come first.
func (d disk) missingDirs(dir string, seen map[string]bool) []string {
	if seen[dir] || dir == path.Dir(dir) {
		return nil
	}
	seen[dir] = true
	if _, err := d.Stat(dir); err == nil {
		return nil
	}
	return append(d.missingDirs(path.Dir(dir), seen), dir)
}

// run makes the changes of the journal, and commits them.
func (t *transaction) run(ctx context.Context, o Options, changes []Change) error {
	if o.FolderMode == 0 {
		o.FolderMode = 0o755
	}
	for _, dir := range t.Dirs {
		if err := t.mkdir(dir, o.FolderMode); err != nil {
			first := slices.IndexFunc(t.Files, func(e entry) bool { return strings.HasPrefix(e.Path, dir+"/") })
			return writeError(t.Files[first].Path, err)
		}
	}
	for _, put := range []func(Change, entry) error{t.stage, t.replace} {
		for i, c := range changes {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := put(c, t.Files[i]); err != nil {
				return err
			}
		}
	}
	return t.commit()
}

// stage writes the new content of a file to a temporary file beside it.
func (t *transaction) stage(c Change, e entry) error {
	if c.After == nil {
		return nil
	}
	mode := c.Mode
	if c.Before != nil {
		info, err := t.Stat(c.Path)
		if err != nil {
			return writeError(c.Path, err)
		}
		mode = info.Mode().Perm()
	}
	// The owner needs write permission until the content is complete.
	err := t.write(e.staged(), os.O_CREATE|os.O_EXCL, mode|0o200, c.After)
	if err == nil && (c.Before != nil || mode&0o200 == 0) {
		err = t.chmod(e.staged(), mode) // the umask applies only to new files
	}
	if err != nil {
		return writeError(c.Path, err)
	}
	return nil
}

// replace moves the staged content of a file to its final path, or moves a deleted file away.
func (t *transaction) replace(c Change, e entry) error {
	if c.Before == nil {
		return t.create(e)
	}
	// With a hard link, a file always exists under the name. Without a link, or for a deletion, the file is moved away
	// first.
	var err error
	if c.After == nil || t.link(e.Path, e.backup()) != nil {
		err = t.rename(e.Path, e.backup())
	}
	if err == nil && c.After != nil {
		err = t.rename(e.staged(), e.Path)
	}
	if err != nil {
		return writeError(c.Path, err)
	}
	// Another program could have changed the file between the check and the rename. After the rename it cannot.
	old, err := afero.ReadFile(t, e.backup())
	if err != nil {
		return diagnostic.AtFile(c.Path, "cannot read", err)
	}
	if !bytes.Equal(old, c.Before) {
		return changedError(c.Path, "has changed")
	}
	return nil
}

// create gives the staged content of a new file its final name, and fails if the name is in use. The staged name
// remains until the end, because undo recognizes the file by it.
func (t *transaction) create(e entry) error {
	err := t.link(e.staged(), e.Path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// Without hard links, an empty file reserves the name.
		if err = t.write(e.Path, os.O_CREATE|os.O_EXCL, 0o600, nil); err == nil {
			err = t.rename(e.staged(), e.Path)
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return changedError(e.Path, "has appeared")
	case err != nil:
		return writeError(e.Path, err)
	}
	return nil
}

// undo rolls back all changes in reverse order, and returns the errors. After an error the journal remains, so that the
// next command tries again.
func (t *transaction) undo() []error {
	var errs []error
	for _, e := range slices.Backward(t.Files) {
		if err := t.undoEntry(e); err != nil {
			errs = append(errs, byHand(err))
		}
	}
	// Removing a directory changes the time of its parent.
	made := map[string]bool{}
	for _, dir := range t.Dirs {
		info, err := t.lstat(dir)
		made[dir] = err == nil && info.IsDir() && t.canHaveMade(dir, info)
	}
	for _, dir := range slices.Backward(t.Dirs) {
		if !made[dir] {
			continue
		}
		if err := t.removeIfEmpty(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, byHand(diagnostic.AtFile(dir, "cannot be removed again", err)))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	return t.forget()
}

// canHaveMade reports whether the transaction may have created a file or directory. Outside the directory, it cannot
// have created files that are older than its journal, which may come from a repository.
func (t *transaction) canHaveMade(name string, info fs.FileInfo) bool {
	return !path.IsAbs(name) || !info.ModTime().Before(t.since)
}

// undoEntry rolls back one file.
func (t *transaction) undoEntry(e entry) *diagnostic.Error {
	staged, _ := t.find(e.staged())
	_, hasBackup := t.find(e.backup())
	target, hasTarget := t.find(e.Path)
	switch {
	case hasBackup:
		// Any other content is a later edit.
		if now := t.hashFile(e.Path); hasTarget && now != e.After && now != e.Before {
			break
		}
		if err := t.rename(e.backup(), e.Path); err != nil {
			return diagnostic.AtFile(e.Path, "cannot be put back, its content is in "+e.backup(), err)
		}
	case e.Before == "" && hasTarget && t.isOurs(e, staged, target):
		if err := t.remove(e.Path); err != nil {
			return diagnostic.AtFile(e.Path, "cannot be removed again", err)
		}
	}
	// A rename to another name of the same file keeps both names.
	for _, name := range []string{e.backup(), e.staged()} {
		if err := t.removeFound(name); err != nil {
			return diagnostic.AtFile(name, "cannot be removed again", err)
		}
	}
	return nil
}

// isOurs reports whether the transaction created a file.
func (t *transaction) isOurs(e entry, staged, target fs.FileInfo) bool {
	if staged != nil {
		return os.SameFile(staged, target) || target.Size() == 0 // linked, or reserved
	}
	return t.canHaveMade(e.Path, target) && t.hashFile(e.Path) == e.After
}

// finish removes the old files, and the directories that became empty because files were deleted.
func (t *transaction) finish() []error {
	var errs []error
	left := func(name, problem string, err error) {
		e := diagnostic.AtFile(name, "all changes are written, but "+problem, err)
		e.Hint = "the next command tries again"
		errs = append(errs, e)
	}
	for _, e := range t.Files {
		for _, name := range []string{e.staged(), e.backup()} {
			if err := t.removeFound(name); err != nil {
				left(name, fmt.Sprintf("the old version of %s cannot be removed", e.Path), err)
			}
		}
		for dir := path.Dir(e.Path); e.After == "" && dir != path.Dir(dir); dir = path.Dir(dir) {
			if err := t.removeIfEmpty(dir); err != nil && !regular.IsMissing(err) {
				left(dir, "the empty directory cannot be removed", err)
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	// Remove the journal last, because the next command finds the remaining files with it.
	if err := t.remove(t.journal); err != nil && !regular.IsMissing(err) {
		left(t.journal, "their journal cannot be removed", err)
	}
	return errs
}

func byHand(e *diagnostic.Error) error {
	if e.Hint == "" || errors.Is(e, fs.ErrPermission) {
		e.Hint = "make the file and its directory writable for you: the next command tries again"
	}
	return e
}

func writeError(path string, err error) error { return diagnostic.AtFile(path, "cannot write", err) }

func changedError(path, problem string) error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: problem + " since the command began",
		Hint:    "run the command again",
	}
}
