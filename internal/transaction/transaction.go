package transaction

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"runtime"
	"slices"
	"time"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/spf13/afero"
)

// Change is what becomes of one file.
type Change struct {
	// Path is relative to the folder, with slashes, or absolute if the file system takes such names.
	Path string
	// Before is what the file holds now, nil if it does not exist. After is what it should hold, nil if it should not
	// exist. Both are only read.
	Before, After []byte
	// Mode holds the permissions of a file that is created, less the umask. A file that exists keeps its own.
	Mode fs.FileMode
}

// Options say how to apply changes.
type Options struct {
	// Command is what a user would call the process that writes, such as "kctrl init".
	Command string
	// FolderMode holds the permissions of folders that are made, less the umask; 0 means 0o755.
	FolderMode fs.FileMode
}

const defaultFolderMode fs.FileMode = 0o755

// Apply makes all changes, or none. It is to be called with the lock of the folder, and after [Recover].
//
// It first checks that every file still is as the changes say. Any failure up to the last file, and the end of ctx, take
// everything back: contents, permissions and folders. Only the removal of old versions comes after that point; an error
// from there says that the changes are made and which file is left over.
//
// Errors are *diagnostic.Error with the file that is to blame, or the cause of ctx; errors.Is finds the cause below,
// such as fs.ErrPermission.
func Apply(ctx context.Context, fsys afero.Fs, o Options, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	d := disk{fsys}
	if err := d.check(changes); err != nil {
		return err
	}
	d.clean(changes)
	t := newTransaction(d, o, changes)
	if err := t.begin(); err != nil {
		return err
	}
	if err := t.run(ctx, changes); err != nil {
		return errors.Join(append([]error{err}, t.undo()...)...)
	}
	return errors.Join(t.finish()...)
}

// transaction is a set of changes on its way to the disk. Its files lie beside their targets and begin with ".kctrl-", so
// that Go, kustomize and kctrl itself take no notice of them.
type transaction struct {
	disk disk
	// journal is the path of the file that holds all that follows.
	journal string
	command string
	// since is when a journal was written that was read, and zero for a transaction of this process.
	since time.Time
	// folders were missing when the transaction began, parents first.
	folders    []string
	folderMode fs.FileMode
	entries    []entry
}

// entry is one file of a transaction.
type entry struct {
	path string
	// staged has the new content until it is in place, and backup the old one from then on.
	staged, backup string
	// before and after are the hashes of the contents, empty for no file.
	before, after string
}

func newTransaction(d disk, o Options, changes []Change) *transaction {
	t := &transaction{disk: d, command: o.Command, folderMode: o.FolderMode}
	if t.folderMode == 0 {
		t.folderMode = defaultFolderMode
	}
	seen := map[string]bool{".": true}
	for i, c := range changes {
		if c.After != nil {
			t.folders = append(t.folders, d.missingFolders(path.Dir(c.Path), seen)...)
		}
		// In the folder of the target: a rename must not cross file systems.
		temporary := path.Join(path.Dir(c.Path), fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), i))
		t.entries = append(t.entries, entry{
			path: c.Path, staged: temporary + stagedSuffix, backup: temporary + backupSuffix, before: hash(c.Before), after: hash(c.After),
		})
	}
	return t
}

// missingFolders returns the folders on the way to dir that do not exist and that were not seen before, parents first.
func (d disk) missingFolders(dir string, seen map[string]bool) []string {
	if seen[dir] || dir == path.Dir(dir) {
		return nil
	}
	seen[dir] = true
	if _, err := d.Stat(dir); err == nil {
		return nil
	}
	return append(d.missingFolders(path.Dir(dir), seen), dir)
}

// run does what the journal says.
func (t *transaction) run(ctx context.Context, changes []Change) error {
	for i, dir := range t.folders {
		if err := t.disk.mkdir(dir, t.folderMode); err != nil {
			return writeError(t.firstIn(t.folders[i]), err)
		}
	}
	var staged, targets []string
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := t.stage(c, t.entries[i]); err != nil {
			return writeError(c.Path, err)
		}
		if c.After != nil {
			staged, targets = append(staged, t.entries[i].staged), append(targets, c.Path)
		}
	}
	// Before the first rename: after a loss of power a name must not lead to a file without content.
	if err := t.disk.sync(staged, targets); err != nil {
		return err
	}
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := t.replace(c, t.entries[i]); err != nil {
			return err
		}
	}
	// Before the journal says so: it must not come to the disk before the names do.
	if err := t.syncFolders(); err != nil {
		return err
	}
	return t.commit()
}

// firstIn returns the first file that a folder is made for.
func (t *transaction) firstIn(dir string) string {
	i := slices.IndexFunc(t.entries, func(e entry) bool { return isBelow(e.path, dir) })
	if i < 0 {
		return dir
	}
	return t.entries[i].path
}

func isBelow(name, dir string) bool {
	return len(name) > len(dir) && name[:len(dir)] == dir && name[len(dir)] == '/'
}

// stage writes the new content of a file beside it.
func (t *transaction) stage(c Change, e entry) error {
	if c.After == nil {
		return nil
	}
	mode := c.Mode
	if c.Before != nil {
		info, err := t.disk.Stat(c.Path)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
	}
	// Writable for now, or it could not be written.
	if err := t.disk.writeNew(e.staged, c.After, mode|0o200); err != nil {
		return err
	}
	if c.Before == nil && mode&0o200 != 0 {
		return nil
	}
	// The umask has had its say, which is not for a file that was there.
	return t.disk.chmod(e.staged, mode)
}

// replace puts the staged content of a file in place, or takes a deleted file away.
func (t *transaction) replace(c Change, e entry) error {
	if c.Before == nil {
		return t.create(e)
	}
	err := t.keep(c, e)
	if err == nil && c.After != nil {
		err = t.disk.rename(e.staged, e.path)
	}
	if err != nil {
		return writeError(c.Path, err)
	}
	// Only now can nobody change it unnoticed any more: between the check and the rename somebody could.
	old, err := afero.ReadFile(t.disk, e.backup)
	if err != nil {
		return diagnostic.AtFile(c.Path, "cannot read", err)
	}
	if !bytes.Equal(old, c.Before) {
		return changedError(c.Path, "has changed")
	}
	return nil
}

// keep gives the old version of a file a second name, or its only one if the file goes away or has to.
func (t *transaction) keep(c Change, e entry) error {
	if c.After != nil && t.disk.link(e.path, e.backup) == nil {
		return nil
	}
	// Without links the file is missing for a moment; with one there is always a file of the name.
	return t.disk.rename(e.path, e.backup)
}

// create gives the staged content of a new file its name, which nobody can have taken since the check unnoticed. The
// second name, which is how an undo knows the file for its own, stays until the end.
func (t *transaction) create(e entry) error {
	err := t.disk.link(e.staged, e.path)
	if err == nil {
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		// Without links, the name is taken first.
		err = t.disk.reserve(e.path)
		if err == nil {
			err = t.disk.rename(e.staged, e.path)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return changedError(e.path, "has appeared")
	}
	if err != nil {
		return writeError(e.path, err)
	}
	return nil
}

// undo takes everything back, the last thing first, and returns what it could not take back. The journal then stays, for
// the next command to try again.
func (t *transaction) undo() []error {
	var errs []error
	for _, e := range slices.Backward(t.entries) {
		if err := t.undoEntry(e); err != nil {
			errs = append(errs, byHand(err))
		}
	}
	// Removing one folder makes the one that it is in look new.
	made := map[string]bool{}
	for _, dir := range t.folders {
		info, err := t.disk.lstat(dir)
		made[dir] = err == nil && info.IsDir() && t.canHaveMade(dir, info)
	}
	for _, dir := range slices.Backward(t.folders) {
		if !made[dir] {
			continue
		}
		if err := t.disk.removeIfEmpty(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, byHand(diagnostic.AtFile(dir, "cannot be removed again", err)))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	// What an undo loses in a loss of power, the journal undoes again.
	_ = t.syncFolders()
	return t.forget()
}

// canHaveMade reports whether a file or folder can be of this transaction. What a journal says of other folders is believed
// only of what is not older than the journal: it may have come with a repository.
func (t *transaction) canHaveMade(name string, info fs.FileInfo) bool {
	return !path.IsAbs(name) || !info.ModTime().Before(t.since)
}

// undoEntry takes back what became of one file, as far as it came.
func (t *transaction) undoEntry(e entry) *diagnostic.Error {
	staged, _ := t.disk.find(e.staged)
	_, hasBackup := t.disk.find(e.backup)
	target, hasTarget := t.disk.find(e.path)
	switch {
	case hasBackup:
		// What is neither the old content nor the new one was written by somebody else, after that.
		if now := t.disk.hashFile(e.path); hasTarget && now != e.after && now != e.before {
			break
		}
		if err := t.disk.rename(e.backup, e.path); err != nil {
			return diagnostic.AtFile(e.path, fmt.Sprintf("cannot be put back, its content is in %s", e.backup), err)
		}
	case e.before == "" && hasTarget && t.isOurs(e, staged, target):
		if err := t.disk.remove(e.path); err != nil {
			return diagnostic.AtFile(e.path, "cannot be removed again", err)
		}
	}
	// A second name of a file that was put back by it is still there.
	for _, name := range []string{e.backup, e.staged} {
		if err := t.disk.removeFound(name); err != nil {
			return diagnostic.AtFile(name, "cannot be removed again", err)
		}
	}
	return nil
}

// isOurs reports whether a file that was not there when the transaction began was created by it.
func (t *transaction) isOurs(e entry, staged, target fs.FileInfo) bool {
	switch {
	case staged != nil && os.SameFile(staged, target):
		return true
	case staged != nil:
		return target.Size() == 0 // reserved
	}
	return t.canHaveMade(e.path, target) && t.disk.hashFile(e.path) == e.after
}

// finish removes what was kept for an undo, and the folders that deleting files has emptied.
func (t *transaction) finish() []error {
	var errs []error
	left := func(name, what string, err error) {
		e := diagnostic.AtFile(name, "all changes are written, but "+what, err)
		e.Hint = "the next command tries again"
		errs = append(errs, e)
	}
	for _, e := range t.entries {
		for _, name := range []string{e.staged, e.backup} {
			if err := t.disk.removeFound(name); err != nil {
				left(name, fmt.Sprintf("the old version of %s cannot be removed", e.path), err)
			}
		}
		for dir := path.Dir(e.path); e.after == "" && dir != path.Dir(dir); dir = path.Dir(dir) {
			if err := t.disk.removeIfEmpty(dir); err != nil && !regular.IsMissing(err) {
				left(dir, "the empty folder cannot be removed", err)
			}
		}
	}
	if len(errs) > 0 {
		return errs
	}
	// Last: while something is left the next command has to find it.
	if err := t.disk.remove(t.journal); err != nil && !regular.IsMissing(err) {
		left(t.journal, "their journal cannot be removed", err)
	}
	return errs
}

// forget removes the journal of a transaction of which nothing is left.
func (t *transaction) forget() []error {
	if err := t.disk.remove(t.journal); err != nil {
		// A file system that cannot be written says nothing of what is not there.
		if _, found := t.disk.find(t.journal); !found {
			return nil
		}
		return []error{byHand(diagnostic.AtFile(t.journal, "cannot be removed again", err))}
	}
	return nil
}

// syncFolders makes sure that names are on disk.
func (t *transaction) syncFolders() error {
	if runtime.GOOS == "windows" {
		return nil // which has no such thing
	}
	first := map[string]string{} // what is written in each folder
	for _, e := range slices.Backward(t.entries) {
		first[path.Dir(e.path)] = e.path
	}
	for _, dir := range t.folders {
		first[path.Dir(dir)] = t.firstIn(dir)
	}
	var targets []string
	dirs := slices.Sorted(maps.Keys(first))
	for _, dir := range dirs {
		targets = append(targets, first[dir])
	}
	return t.disk.sync(dirs, targets)
}

func byHand(e *diagnostic.Error) error {
	if e.Hint == "" || errors.Is(e, fs.ErrPermission) {
		e.Hint = "make the file and its folder writable for you: the next command tries again"
	}
	return e
}

func writeError(path string, err error) error { return diagnostic.AtFile(path, "cannot write", err) }

func changedError(path, what string) error {
	return &diagnostic.Error{
		Pos:     token.Position{Filename: path},
		Message: what + " since the command began",
		Hint:    "run the command again",
	}
}
