// Package transaction writes either all changes of a command to the disk, or none.
//
// A command acquires the lock of its directory, which serializes concurrent commands. It then recovers from a killed
// command, reads files, plans its changes, and applies them:
//
//	release, err := transaction.Acquire(ctx, dir, false, waiting)
//	target, err := transaction.Open(dir)
//	command, files, err := transaction.Recover(target)
//	err = transaction.Apply(ctx, target, "kctrl init", 0o755, changes)
//
// [Apply] first writes a journal of the changes. It then writes every new content to a temporary file beside its
// target, moves the temporary files to their targets, and keeps the old files. Finally it renames the journal, which
// commits the changes, and removes the old files. If a step before the commit fails or ctx ends, Apply rolls back all
// changes. If the process dies before the commit, [Recover] rolls them back.
//
// # Guarantees
//
//   - After any failure, and if the process is killed at any point, the tree is either unchanged or as planned, at the
//     latest after the next Recover. This does not include a loss of power, because the package does not sync files.
//   - Every file is complete at all times: readers see either the old or the new content. On a file system without hard
//     links, a replaced file is missing for a moment, and a new file is empty for a moment.
//   - Apply does not overwrite a file that changed after the command read it. Recover keeps edits that were made after
//     the process died.
//   - A target that is not a regular file is an error. Apply truncates no file.
//   - Recover renames and removes only files of a transaction. If a repository contains a forged journal, Recover does
//     not touch files or directories outside the directory that are older than the journal.
package transaction

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// Step is called before every step that changes the disk. Tests use it to end the process.
var Step = func() {}

// The names of the files of a transaction, which Go, kustomize and kctrl ignore. The commit renames the journal.
const (
	prefix        = ".kctrl-"
	journalName   = prefix + "journal"
	committedName = prefix + "done"
	stagedSuffix  = ".new"
	backupSuffix  = ".old"
)

// transaction is a set of changes while they are written to the disk.
type transaction struct {
	afero.Fs
	// journal is the path of the journal, which contains the record.
	journal string
	record
	// since is the time of a journal that Recover read; it is zero for a transaction of this process.
	since time.Time
}

// record is the content of a journal: one line of JSON.
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

// staged is the name of the new content until it is at its final path, or until the end if the file is new. backup is
// the name of the old content after that.
func (e entry) staged() string { return path.Join(path.Dir(e.Path), e.Temporary+stagedSuffix) }
func (e entry) backup() string { return path.Join(path.Dir(e.Path), e.Temporary+backupSuffix) }

// Apply makes all changes of a command, such as "kctrl init", or none. The caller must hold the lock of the directory,
// and must have called [Recover]. folderMode has the permissions of new directories, before the umask.
//
// If a file does not have the content Before, writing a file fails, or ctx ends, Apply leaves or restores all contents,
// permissions and directories. If it cannot remove an old file after it has written all files, the error states that
// the changes are complete. An error is a *diagnostic.Error about the file that caused it, or the cause of ctx.
func Apply(ctx context.Context, fsys afero.Fs, command string, folderMode fs.FileMode, changes []Change) (err error) {
	if len(changes) == 0 {
		return nil
	}
	t := &transaction{Fs: fsys, journal: journalName, record: record{Command: command}}
	for i, c := range changes {
		temporary := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), i)
		t.Files = append(t.Files, entry{c.Path, temporary, hash(c.Before), hash(c.After)})
	}
	changes = slices.Clone(changes)
	if err := t.check(changes); err != nil {
		return err
	}
	// At the limit on open files, closing these makes a rollback possible: it opens a file and two parent directories.
	var spare [3]*os.File
	for i := range spare {
		if spare[i], err = os.Open(os.DevNull); err != nil {
			return writeError(changes[0].Path, err)
		}
		defer spare[i].Close()
	}
	if err := t.begin(); err != nil {
		return writeError(changes[0].Path, err)
	}
	err = t.run(ctx, folderMode, changes)
	for _, file := range spare {
		file.Close()
	}
	return errors.Join(err, t.end())
}

// begin writes the journal, before the transaction changes anything.
func (t *transaction) begin() error {
	text, err := json.Marshal(t.record)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	err = t.create(t.journal, 0o600, text)
	dir := path.Dir(t.Files[0].Path)
	if filepath.IsAbs(dir) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
		// A command that writes only to other directories needs no write permission in its own directory.
		for slices.Contains(t.Dirs, dir) {
			dir = path.Dir(dir)
		}
		t.journal = path.Join(dir, journalName)
		err = t.create(t.journal, 0o600, text)
	}
	return err
}

// run makes the changes of the journal, and commits them.
func (t *transaction) run(ctx context.Context, folderMode fs.FileMode, changes []Change) error {
	for _, dir := range t.Dirs {
		if err := t.step().Mkdir(dir, folderMode); err != nil {
			first := slices.IndexFunc(changes, func(c Change) bool { return strings.HasPrefix(c.Path, dir+"/") })
			return writeError(changes[first].Path, err)
		}
	}
	for _, put := range []func(Change, entry) error{t.stage, t.replace} {
		for i, c := range changes {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := put(c, t.Files[i]); err != nil {
				return writeError(c.Path, err)
			}
		}
	}
	done := path.Join(path.Dir(t.journal), committedName)
	if err := t.step().Rename(t.journal, done); err != nil {
		return writeError(changes[0].Path, err)
	}
	t.journal = done
	return nil
}

// stage writes the new content of a file to a temporary file beside it.
func (t *transaction) stage(c Change, e entry) error {
	if c.After == nil {
		return nil
	}
	err := t.create(e.staged(), c.Mode, c.After)
	if err == nil && c.Before != nil {
		err = t.step().Chmod(e.staged(), c.Mode) // the umask applies only to new files
	}
	return err
}

// replace moves the staged content of a file to its final path, or moves a deleted file away.
func (t *transaction) replace(c Change, e entry) error {
	if c.Before == nil {
		return t.publish(e)
	}
	// With a hard link, a file always exists under the name. Without a link, the file is moved away first.
	var err error
	if c.After == nil || t.link(e.Path, e.backup()) != nil {
		err = t.step().Rename(e.Path, e.backup())
	}
	if err == nil && c.After != nil {
		err = t.step().Rename(e.staged(), e.Path)
	}
	if err == nil {
		// Another program could have changed the file between the check and the rename. After the rename it cannot.
		err = t.checkContent(c, e.backup())
	}
	return err
}

// publish gives the staged content of a new file its final name, and fails if the name is in use.
func (t *transaction) publish(e entry) error {
	err := t.link(e.staged(), e.Path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		// Without hard links, an empty file reserves the name.
		if err = t.create(e.Path, 0o600, nil); err == nil {
			err = t.step().Rename(e.staged(), e.Path)
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return changedError(e.Path)
	}
	return err
}

// Find returns the killed command whose changes are incomplete, such as "kctrl init", and how many files it intended to
// change: 0 if there is no such command. It changes nothing.
func Find(fsys afero.Fs) (command string, files int, err error) {
	t, err := load(fsys, journalName)
	return t.Command, len(t.Files), err
}

// Recover rolls back the incomplete changes of killed commands, and removes their temporary files. It returns the last
// command that it rolled back, as Find does. The caller must hold the lock of the directory. Recover reads journals in
// the directory itself and in directories, which are absolute paths.
func Recover(fsys afero.Fs, directories ...string) (command string, files int, err error) {
	for _, dir := range append([]string{"."}, directories...) {
		for _, name := range []string{committedName, journalName} {
			t, err := load(fsys, path.Join(dir, name))
			if err == nil {
				err = t.end()
			}
			if !t.committed() && len(t.Files) > 0 {
				command, files = t.Command, len(t.Files)
			}
			if err != nil {
				return command, files, err
			}
		}
	}
	return command, files, nil
}

// load reads a journal. Without a journal, the record is empty.
func load(fsys afero.Fs, name string) (*transaction, error) {
	t := &transaction{Fs: fsys, journal: name}
	info, err := t.lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return t, nil
	}
	t.since = info.ModTime()
	text, err := afero.ReadFile(fsys, name)
	if err == nil {
		t.record, err = parseRecord(text)
	}
	if err != nil {
		return t, refused(name, "cannot read: "+diagnostic.PlainCause(err), "a kctrl command was interrupted here: "+
			"repair the changes that git status shows, and delete "+name)
	}
	return t, nil
}

// parseRecord parses a journal. An incomplete journal is empty, because its transaction has not changed anything.
func parseRecord(text []byte) (r record, err error) {
	if !bytes.HasSuffix(text, []byte("\n")) {
		return record{}, nil
	}
	isInvalid := func(e entry) bool {
		return !strings.HasPrefix(e.Temporary, prefix) || e.Temporary != path.Base(e.Temporary)
	}
	if json.Unmarshal(text, &r) != nil || slices.ContainsFunc(r.Files, isInvalid) {
		return record{}, errors.New("not a journal of this kctrl")
	}
	return r, nil
}

func (t *transaction) committed() bool { return path.Base(t.journal) == committedName }

// end rolls back all changes, unless they are committed. It then removes the temporary files, the directories that are
// empty again, and the journal. After an error the journal remains, so that the next command tries again.
func (t *transaction) end() error {
	if t.committed() {
		t.Dirs = parents(slices.DeleteFunc(slices.Clone(t.Files), func(e entry) bool { return e.After != "" }))
	}
	// Removing a file changes the time of its directory, which canHaveMade reads.
	t.Dirs = slices.DeleteFunc(t.Dirs, func(dir string) bool { return !t.canHaveMade(dir) })
	var errs []error
	for _, e := range slices.Backward(t.Files) {
		err := t.restore(e)
		if err == nil {
			// A rename to another name of the same file keeps both names.
			err = errors.Join(t.remove(e.staged()), t.remove(e.backup()))
		}
		errs = append(errs, err)
	}
	for _, dir := range slices.Backward(t.Dirs) {
		errs = append(errs, t.removeIfEmpty(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.remove(t.journal)
}

// restore rolls back one file, unless it was edited later.
func (t *transaction) restore(e entry) error {
	if t.committed() {
		return nil
	}
	now, err := t.hashOf(e.Path)
	if err != nil {
		return err
	}
	isStaged := t.has(e.staged())
	isReserved := isStaged && now == hash([]byte{})
	isNew := now == e.After && (isStaged || t.canHaveMade(e.Path))
	switch {
	case t.has(e.backup()) && (now == "" || now == e.Before || now == e.After):
		err = t.step().Rename(e.backup(), e.Path)
		return t.remains(e.Path, "cannot be put back, its content is in "+e.backup(), err)
	case e.Before == "" && (isReserved || isNew):
		return t.remove(e.Path)
	}
	return nil
}

// canHaveMade reports whether the transaction may have created a file, or have created or changed a directory. Outside
// the directory, it cannot have made anything that is older than its journal, which may come from a repository.
func (t *transaction) canHaveMade(name string) bool {
	info, err := t.lstat(name)
	return filepath.IsLocal(name) || err == nil && !info.ModTime().Before(t.since)
}

// remove removes a file if it exists.
func (t *transaction) remove(name string) error {
	if !t.has(name) {
		return nil
	}
	return t.remains(name, "cannot be removed", t.step().Remove(name))
}

func (t *transaction) removeIfEmpty(dir string) error {
	entries, err := afero.ReadDir(t, dir)
	if err == nil && len(entries) == 0 {
		err = t.step().Remove(dir)
	}
	return t.remains(dir, "cannot be removed", err)
}

// remains returns the error for a file or directory that remains because of err.
func (t *transaction) remains(name, problem string, err error) error {
	if err == nil || regular.IsMissing(err) {
		return nil
	}
	if t.committed() {
		problem = "all changes are written, but this " + problem
	}
	e := diagnostic.AtFile(name, problem, err)
	e.Hint = cmp.Or(e.Hint, "the next kctrl command in this directory tries again")
	return e
}

// step returns the file system for one call that changes the disk.
func (t *transaction) step() afero.Fs {
	Step()
	return t.Fs
}

func (t *transaction) link(from, to string) error {
	if l, ok := t.step().(interface{ Link(from, to string) error }); ok {
		return l.Link(from, to)
	}
	return errors.ErrUnsupported
}

// create writes a new file, and removes it again after an error.
func (t *transaction) create(name string, mode fs.FileMode, content []byte) error {
	file, err := t.step().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	t.step()
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		err = errors.Join(err, t.step().Remove(name))
	}
	return err
}

// lstat describes the file itself, even if it is a symbolic link, on file systems that have links.
func (t *transaction) lstat(name string) (fs.FileInfo, error) {
	if l, ok := t.Fs.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(name)
		return info, err
	}
	return t.Stat(name)
}

// has reports whether a regular file exists.
func (t *transaction) has(name string) bool {
	info, err := t.lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// hashOf returns the hash of a regular file's content, or "" if there is no such file.
func (t *transaction) hashOf(name string) (string, error) {
	if !t.has(name) {
		return "", nil
	}
	content, err := afero.ReadFile(t, name)
	if err != nil {
		return "", diagnostic.AtFile(name, "cannot read", err)
	}
	return hash(append([]byte{}, content...)), nil
}

// hash returns the hash of a content, or "" for nil, which means a missing file.
func hash(content []byte) string {
	if content == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
