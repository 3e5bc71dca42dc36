// Package regular opens the files that kctrl reads. It rejects other types of files, because a read from a pipe or a
// device could block forever.
package regular

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular means that the name refers to a pipe, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// Remedy returns a hint for an error of [Open], or "".
func Remedy(err error) string {
	switch {
	case errors.Is(err, ErrNotRegular):
		return "put a regular file in its place"
	case errors.Is(err, syscall.EMFILE):
		return "raise the limit on open files (ulimit -n), then run the command again"
	case errors.Is(err, syscall.ENFILE):
		return "all programs of this machine together have too many files open: end some, then run the command again"
	}
	return ""
}

// IsMissing reports whether an error means that the file does not exist. This includes a path whose parent is a file.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// Flags open a file for reading without waiting for the writer of a pipe. Callers pass the opened file to [Check].
const Flags = os.O_RDONLY | syscall.O_NONBLOCK

// Open opens a file or a directory for reading. Errors are of type *fs.PathError. For other types of files, the error
// is [ErrNotRegular].
func Open(name string) (*os.File, error) { return Check(os.OpenFile(name, Flags, 0)) }

// ReadFile returns the content of a file. Its errors are the errors of [Open] and os.ReadFile.
func ReadFile(name string) ([]byte, error) {
	file, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var content bytes.Buffer
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		content.Grow(int(info.Size()) + bytes.MinRead) // one allocation
	}
	if _, err := content.ReadFrom(file); err != nil {
		return nil, err
	}
	return content.Bytes(), nil
}

// Check closes a file opened with [Flags] and returns an error if it is neither a regular file nor a directory.
func Check(file *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: file.Name(), Err: ErrNotRegular}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
