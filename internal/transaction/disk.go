package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/afero"
)

// Step is called before every step that changes the disk. It is nil except in tests, which use it to end the process.
var Step func()

func step() {
	if Step != nil {
		Step()
	}
}

// disk is the file system of a transaction. Each method that changes the disk is one step, except that a write is two
// steps.
type disk struct{ afero.Fs }

// linker is a file system with hard links.
type linker interface {
	Link(from, to string) error
}

func (d disk) link(from, to string) error {
	l, ok := d.Fs.(linker)
	if !ok {
		return errors.ErrUnsupported
	}
	step()
	return l.Link(from, to)
}

func (d disk) rename(from, to string) error {
	step()
	return d.Rename(from, to)
}

func (d disk) remove(name string) error {
	step()
	return d.Remove(name)
}

func (d disk) mkdir(name string, mode fs.FileMode) error {
	step()
	return d.Mkdir(name, mode)
}

func (d disk) chmod(name string, mode fs.FileMode) error {
	step()
	return d.Chmod(name, mode)
}

func (d disk) write(name string, flag int, mode fs.FileMode, content []byte) error {
	step()
	file, err := d.OpenFile(name, os.O_WRONLY|flag, mode)
	if err != nil {
		return err
	}
	step()
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// removeFound removes a file if it exists.
func (d disk) removeFound(name string) error {
	if _, found := d.find(name); !found {
		return nil
	}
	return d.remove(name)
}

// removeIfEmpty removes a directory if it is empty.
func (d disk) removeIfEmpty(dir string) error {
	entries, err := afero.ReadDir(d, dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return d.remove(dir)
}

// lstat describes the file itself, even if it is a symbolic link, on file systems that have links.
func (d disk) lstat(name string) (fs.FileInfo, error) {
	if l, ok := d.Fs.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(name)
		return info, err
	}
	return d.Stat(name)
}

// find returns the info of a regular file, and whether the file exists.
func (d disk) find(name string) (_ fs.FileInfo, found bool) {
	info, err := d.lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	return info, true
}

// hashFile returns the hash of a file's content, or "" if the file cannot be read.
func (d disk) hashFile(name string) string {
	content, err := afero.ReadFile(d, name)
	if err != nil {
		return ""
	}
	return hash(append([]byte{}, content...)) // an empty file differs from a missing one
}

// hash returns the hash of a content, or "" for nil, which means a missing file.
func hash(content []byte) string {
	if content == nil {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
