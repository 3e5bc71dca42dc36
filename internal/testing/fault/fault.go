// Package fault injects failures of file system writes in tests.
package fault

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/spf13/afero"
)

// Err is an injected failure.
var Err = errors.New("injected fault")

// FS fails calls that would change the file system. A failed call changes nothing, with two exceptions: a failed Write
// writes half of the data, and a failed Close closes the file.
type FS struct {
	afero.Fs
	// Fails returns the error for a call, given its number, from 1, and its name.
	Fails func(n int, call string) error
	// Calls are all calls in order.
	Calls []string
	mu    sync.Mutex
}

func (f *FS) next(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Calls = append(f.Calls, call)
	return f.Fails(len(f.Calls), call)
}

func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	if err := f.next("mkdir " + name); err != nil {
		return err
	}
	return f.Fs.Mkdir(name, perm)
}

func (f *FS) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		opened, err := f.Fs.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &file{File: opened, fs: f}, nil
	}
	if err := f.next("open " + name); err != nil {
		return nil, err
	}
	opened, err := f.Fs.OpenFile(name, flag, perm)
	return &file{File: opened, fs: f}, err
}

func (f *FS) Remove(name string) error {
	if err := f.next("remove " + name); err != nil {
		return err
	}
	return f.Fs.Remove(name)
}

func (f *FS) Rename(from, to string) error {
	if err := f.next("rename " + from + " " + to); err != nil {
		return err
	}
	return f.Fs.Rename(from, to)
}

func (f *FS) Chmod(name string, mode fs.FileMode) error {
	if err := f.next("chmod " + name); err != nil {
		return err
	}
	return f.Fs.Chmod(name, mode)
}

func (f *FS) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	return f.Fs.(afero.Lstater).LstatIfPossible(name)
}

func (f *FS) Link(from, to string) error {
	l, ok := f.Fs.(interface{ Link(from, to string) error })
	if !ok {
		return errors.ErrUnsupported
	}
	if err := f.next("link " + from + " " + to); err != nil {
		return err
	}
	return l.Link(from, to)
}

func (f *FS) RemoveAll(name string) error { panic("RemoveAll removes files that were not listed") }

type file struct {
	afero.File
	fs      *FS
	written bool
}

func (f *file) Write(b []byte) (int, error) {
	f.written = true
	if err := f.fs.next("write " + f.Name()); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *file) Close() error {
	// Closing a file that was only read cannot fail.
	if !f.written {
		return f.File.Close()
	}
	err := f.fs.next("close " + f.Name())
	return errors.Join(err, f.File.Close())
}
