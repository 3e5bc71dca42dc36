// Package transaction writes either all changes of a command to the disk, or none.
//
// A command acquires the lock of its directory, recovers from a killed command, reads files, plans its changes, and
// applies them:
//
//	lock, err := transaction.Acquire(ctx, dir, transaction.LockOptions{})
//	target, err := transaction.Open(dir)
//	interrupted, found, err := transaction.Recover(target)
//	err = transaction.Apply(ctx, target, transaction.Options{Command: "kctrl init"}, changes)
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
//     not touch files outside the directory that are older than the journal.
//
// All functions are safe for use by several processes. The lock serializes the commands in a directory.
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

// Options are the options of [Apply].
type Options struct {
	// Command is the writing command in messages for users, such as "kctrl init".
	Command string
	// FolderMode has the permissions of new directories, before the umask; 0 means 0o755.
	FolderMode fs.FileMode
}

// Interrupted describes a command that was killed while it wrote.
type Interrupted struct {
	// Command is the command that the user ran, such as "kctrl init".
	Command string
	// Files is the number of files that the command intended to change.
	Files int
}

// Step is called before every step that changes the disk. It is nil except in tests, which use it to end the process.
var Step func()

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

// Apply makes all changes, or none. The caller must hold the lock of the directory, and must have called [Recover].
//
// If a file does not have the content Before, writing a file fails, or ctx ends, Apply leaves or restores all contents,
// permissions and directories. If it cannot remove an old file after it has written all files, the error states that
// the changes are complete.
//
// An error is a *diagnostic.Error about the file that caused it, or the cause of ctx. errors.Is finds the underlying
// error, such as fs.ErrPermission.
func Apply(ctx context.Context, fsys afero.Fs, o Options, changes []Change) (err error) {
	if len(changes) == 0 {
		return nil
	}
	t := &transaction{Fs: fsys, journal: journalName, record: record{Command: o.Command}}
	changes = slices.Clone(changes)
	if t.Dirs, err = t.check(changes); err != nil {
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
	for i, c := range changes {
		temporary := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), i)
		t.Files = append(t.Files, entry{c.Path, temporary, hash(c.Before), hash(c.After)})
	}
	if err := t.begin(); err != nil {
		return writeError(changes[0].Path, err)
	}
	err = t.run(ctx, o, changes)
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
	if path.IsAbs(dir) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) {
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
func (t *transaction) run(ctx context.Context, o Options, changes []Change) error {
	for _, dir := range t.Dirs {
		if err := t.step().Mkdir(dir, cmp.Or(o.FolderMode, 0o755)); err != nil {
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
	// The owner needs write permission until the content is complete.
	err := t.create(e.staged(), c.Mode|0o200, c.After)
	if err == nil && (c.Before != nil || c.Mode&0o200 == 0) {
		err = t.step().Chmod(e.staged(), c.Mode) // the umask applies only to new files
	}
	return err
}

// replace moves the staged content of a file to its final path, or moves a deleted file away.
func (t *transaction) replace(c Change, e entry) error {
	if c.Before == nil {
		return t.publish(e)
	}
	// With a hard link, a file always exists under the name. Without a link, or for a deletion, the file is moved away
	// first.
	var err error
	if c.After == nil || t.link(e.Path, e.backup()) != nil {
		err = t.step().Rename(e.Path, e.backup())
	}
	if err == nil && c.After != nil {
		err = t.step().Rename(e.staged(), e.Path)
	}
	if err != nil {
		return err
	}
	// Another program could have changed the file between the check and the rename. After the rename it cannot.
	return t.checkContent(c, e.backup())
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
		return changedError(e.Path, "has appeared")
	}
	return err
}

// Find returns a killed command whose changes are incomplete. It changes nothing.
func Find(fsys afero.Fs) (_ Interrupted, found bool, err error) {
	t, err := load(fsys, journalName)
	return Interrupted{t.Command, len(t.Files)}, len(t.Files) > 0, err
}

// Recover rolls back the incomplete changes of killed commands, and removes their temporary files. It returns the last
// command that it rolled back. The caller must hold the lock of the directory. Recover reads journals in the directory
// itself and in directories, which are absolute paths.
func Recover(fsys afero.Fs, directories ...string) (interrupted Interrupted, found bool, err error) {
	for _, dir := range append([]string{"."}, directories...) {
		for _, name := range []string{committedName, journalName} {
			t, err := load(fsys, path.Join(dir, name))
			if err == nil {
				err = t.end()
			}
			if !t.committed() && len(t.Files) > 0 {
				interrupted, found = Interrupted{t.Command, len(t.Files)}, true
			}
			if err != nil {
				return interrupted, found, err
			}
		}
	}
	return interrupted, found, nil
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
		e := diagnostic.AtFile(name, "cannot be read", err)
		e.Hint = "a kctrl command was interrupted here: repair the changes that git status shows, and delete " + name
		return t, e
	}
	return t, nil
}

// parseRecord parses a journal. An incomplete journal is empty, because its transaction has not changed anything.
func parseRecord(text []byte) (r record, err error) {
	line, rest, complete := bytes.Cut(text, []byte("\n"))
	if !complete {
		return record{}, nil
	}
	isInvalid := func(e entry) bool {
		return !strings.HasPrefix(e.Temporary, prefix) || e.Temporary != path.Base(e.Temporary)
	}
	if json.Unmarshal(line, &r) != nil || len(rest) > 0 || slices.ContainsFunc(r.Files, isInvalid) {
		return record{}, errors.New("not a journal of this kctrl")
	}
	return r, nil
}

func (t *transaction) committed() bool { return path.Base(t.journal) == committedName }

// end rolls back all changes, unless they are committed. It then removes the temporary files, the directories that are
// empty again, and the journal. After an error the journal remains, so that the next command tries again.
func (t *transaction) end() error {
	// Removing a file changes the time of its directory, which canHaveMade reads.
	made := slices.DeleteFunc(slices.Clone(t.Dirs), func(dir string) bool { return t.committed() || !t.canHaveMade(dir) })
	var errs []error
	for _, e := range slices.Backward(t.Files) {
		err := t.restore(e)
		if err == nil {
			// A rename to another name of the same file keeps both names.
			old := "the old version of " + e.Path
			err = errors.Join(t.remove(e.staged(), old), t.remove(e.backup(), old))
		}
		errs = append(errs, err)
		for dir := path.Dir(e.Path); t.committed() && e.After == "" && dir != path.Dir(dir); dir = path.Dir(dir) {
			errs = append(errs, t.removeIfEmpty(dir))
		}
	}
	for _, dir := range slices.Backward(made) {
		errs = append(errs, t.removeIfEmpty(dir))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return t.remove(t.journal, "their journal")
}

// restore rolls back one file, unless it was edited later.
func (t *transaction) restore(e entry) error {
	if t.committed() {
		return nil
	}
	now, isStaged := t.hashOf(e.Path), t.has(e.staged())
	isReserved := isStaged && now == hash([]byte{})
	isNew := now == e.After && (isStaged || t.canHaveMade(e.Path))
	switch {
	case t.has(e.backup()) && (now == "" || now == e.Before || now == e.After):
		err := t.step().Rename(e.backup(), e.Path)
		return t.remains(e.Path, "cannot be put back, its content is in "+e.backup(), err)
	case e.Before == "" && (isReserved || isNew):
		return t.remove(e.Path, "")
	}
	return nil
}

// canHaveMade reports whether the transaction may have created a file or directory. Outside the directory, it cannot
// have created files that are older than its journal, which may come from a repository.
func (t *transaction) canHaveMade(name string) bool {
	info, err := t.lstat(name)
	return !path.IsAbs(name) || err == nil && !info.ModTime().Before(t.since)
}

// remove removes a file if it exists. what describes the file in errors after the commit.
func (t *transaction) remove(name, what string) error {
	if !t.has(name) {
		return nil
	}
	return t.remains(name, t.cannotRemove(what), t.step().Remove(name))
}

func (t *transaction) removeIfEmpty(dir string) error {
	entries, err := afero.ReadDir(t, dir)
	if err == nil && len(entries) == 0 {
		err = t.step().Remove(dir)
	}
	return t.remains(dir, t.cannotRemove("the empty directory"), err)
}

func (t *transaction) cannotRemove(what string) string {
	if t.committed() {
		return fmt.Sprintf("all changes are written, but %s cannot be removed", what)
	}
	return "cannot be removed again"
}

// remains returns the error for a file or directory that remains because of err.
func (t *transaction) remains(name, problem string, err error) error {
	if err == nil || regular.IsMissing(err) {
		return nil
	}
	e := diagnostic.AtFile(name, problem, err)
	switch {
	case t.committed():
		e.Hint = "the next command tries again"
	case e.Hint == "" || errors.Is(err, fs.ErrPermission):
		e.Hint = "make the file and its directory writable for you: the next command tries again"
	}
	return e
}

// step returns the file system for one call that changes the disk.
func (t *transaction) step() afero.Fs {
	if Step != nil {
		Step()
	}
	return t.Fs
}

func (t *transaction) link(from, to string) error {
	if l, ok := t.step().(linker); ok {
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

// hashOf returns the hash of a regular file's content. It returns "" if there is no such file, and a value that differs
// from all hashes if the file cannot be read.
func (t *transaction) hashOf(name string) string {
	if !t.has(name) {
		return ""
	}
	content, err := afero.ReadFile(t, name)
	if err != nil {
		return "unknown"
	}
	return hash(append([]byte{}, content...))
}

// hash returns the hash of a content, or "" for nil, which means a missing file.
func hash(content []byte) string {
	if content == nil {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
