package compat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
)

// Write writes the files whose content is new, and makes their folders. Each file is complete at every moment. If one
// cannot be written, none is: those that were replaced by then are put back.
func (r *Result) Write() error {
	if len(r.current) > 0 {
		return nil
	}
	// Stamps from before the comparison show whatever changes during it.
	stamps, settled := incremental.StampFiles(slices.Collect(maps.Keys(r.files)))
	var staged []*stagedFile
	defer func() {
		for _, s := range slices.Backward(staged) {
			s.discard()
		}
	}()
	for _, file := range r.Files() {
		s, err := stage(file.Path, file.Content)
		if err != nil {
			return r.writeError(file.Path, err)
		}
		if s != nil {
			staged = append(staged, s)
		}
	}
	if len(staged) == 0 && settled && r.isWritten != nil {
		r.isWritten(stamps)
	}
	for i, s := range staged {
		if err := s.commit(); err != nil {
			return errors.Join(r.writeError(s.path, err), r.undo(staged[:i]))
		}
	}
	return nil
}

// undo puts back what was replaced, the last first.
func (r *Result) undo(done []*stagedFile) error {
	var errs []error
	for _, s := range slices.Backward(done) {
		if err := s.undo(); err != nil {
			errs = append(errs, r.undoError(s.path, err))
		}
	}
	return errors.Join(errs...)
}

// stagedFile is new content beside the file that it is to replace.
type stagedFile struct {
	path      string // what to replace, no symbolic link
	temporary string // the file with the content; empty if the folder takes no new files, or when done
	content   []byte
	folder    string // the topmost folder that was made for it, or empty
	made      string // what folder was before the file was replaced
	before    *previous
}

// previous is a file before it was replaced.
type previous struct {
	content []byte
	info    fs.FileInfo
}

// stage prepares a file to be replaced. It returns nil for a file that has the content already.
func stage(name string, content []byte) (*stagedFile, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	s := &stagedFile{path: name, content: content}
	mode := fs.FileMode(0o666)
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "write", Path: name, Err: syscall.EISDIR}
	case err == nil:
		present, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(present, content) {
			return nil, nil
		}
		mode = info.Mode().Perm()
		s.before = &previous{present, info}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	s.folder = firstMissing(filepath.Dir(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		s.discard()
		return nil, err
	}
	if err := s.write(mode, info != nil); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

// write puts the content into a temporary file. A folder that takes none is no obstacle if the file itself can be
// written.
func (s *stagedFile) write(mode fs.FileMode, exists bool) error {
	temporary := filepath.Join(filepath.Dir(s.path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(s.path), os.Getpid()))
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil && exists {
		return writable(s.path)
	}
	if err != nil {
		return err
	}
	s.temporary = temporary
	_, err = file.Write(s.content)
	if exists {
		err = errors.Join(err, file.Chmod(mode))
	}
	return errors.Join(err, file.Close())
}

func writable(name string) error {
	file, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return file.Close()
}

// commit replaces the file: at once, or in place where that is not allowed, as for a file that is a mount point.
func (s *stagedFile) commit() error {
	if s.temporary != "" && os.Rename(s.temporary, s.path) == nil {
		s.temporary, s.folder, s.made = "", "", s.folder
		return nil
	}
	err := os.WriteFile(s.path, s.content, 0o666)
	if err == nil {
		s.folder, s.made = "", s.folder
	}
	return err
}

// undo takes commit back.
func (s *stagedFile) undo() error {
	s.folder = s.made
	if s.before == nil {
		return os.Remove(s.path)
	}
	old := &stagedFile{path: s.path, content: s.before.content}
	defer old.discard()
	modified := s.before.info.ModTime()
	return errors.Join(old.write(s.before.info.Mode().Perm(), true), old.commit(), os.Chtimes(s.path, modified, modified))
}

// discard removes what was prepared and not used.
func (s *stagedFile) discard() {
	if s.temporary != "" {
		os.Remove(s.temporary)
	}
	if s.folder == "" {
		return
	}
	for dir := filepath.Dir(s.path); len(dir) >= len(s.folder); dir = filepath.Dir(dir) {
		if os.Remove(dir) != nil {
			return
		}
	}
}

// firstMissing returns the topmost folder on the way to dir that does not exist, or "".
func firstMissing(dir string) string {
	missing := ""
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = dir
		dir = filepath.Dir(dir)
	}
}

func (r *Result) writeError(name string, err error) error {
	return r.fileError("cannot write", name, err, "nothing was written; choose another folder with an output rule such as output:dir=folder")
}

func (r *Result) undoError(name string, err error) error {
	return r.fileError("cannot put back", name, err, "restore the file from version control, or generate again")
}

func (r *Result) fileError(message, name string, err error, hint string) error {
	if rel, relErr := filepath.Rel(r.dir, name); relErr == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
	}
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	return &diagnostic.Error{Message: fmt.Sprintf("%s %s: %v", message, name, cause), Hint: hint, Cause: err}
}
