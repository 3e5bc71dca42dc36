package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kctrl-dev/kctrl/internal/transaction"
	"github.com/spf13/afero"
)

var errFault = errors.New("injected fault")

// faultFs fails calls that would change the file system. A failed call changes nothing, except that a failed Write has
// written half and a failed Close has closed.
type faultFs struct {
	afero.Fs
	// fails decides by the number of the call, from 1, and its name.
	fails func(n int, call string) error
	mu    sync.Mutex
	calls int
	log   []string
}

func (f *faultFs) next(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	f.log = append(f.log, call)
	return f.fails(f.calls, call)
}

func (f *faultFs) Mkdir(name string, perm fs.FileMode) error {
	if err := f.next("mkdir " + name); err != nil {
		return err
	}
	return f.Fs.Mkdir(name, perm)
}

func (f *faultFs) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) == 0 {
		file, err := f.Fs.OpenFile(name, flag, perm)
		if err != nil {
			return nil, err
		}
		return &faultFile{File: file, fs: f}, nil
	}
	if err := f.next("open " + name); err != nil {
		return nil, err
	}
	file, err := f.Fs.OpenFile(name, flag, perm)
	return &faultFile{File: file, fs: f}, err
}

func (f *faultFs) Remove(name string) error {
	if err := f.next("remove " + name); err != nil {
		return err
	}
	return f.Fs.Remove(name)
}

func (f *faultFs) Rename(from, to string) error {
	if err := f.next("rename " + from + " " + to); err != nil {
		return err
	}
	return f.Fs.Rename(from, to)
}

func (f *faultFs) Chmod(name string, mode fs.FileMode) error {
	if err := f.next("chmod " + name); err != nil {
		return err
	}
	return f.Fs.Chmod(name, mode)
}

func (f *faultFs) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	return f.Fs.(afero.Lstater).LstatIfPossible(name)
}

func (f *faultFs) Link(from, to string) error {
	l, ok := f.Fs.(interface{ Link(from, to string) error })
	if !ok {
		return errors.ErrUnsupported
	}
	if err := f.next("link " + from + " " + to); err != nil {
		return err
	}
	return l.Link(from, to)
}

func (f *faultFs) RemoveAll(name string) error { panic("RemoveAll takes what it was not told about") }

type faultFile struct {
	afero.File
	fs      *faultFs
	written bool
}

func (f *faultFile) Write(b []byte) (int, error) {
	f.written = true
	if err := f.fs.next("write " + f.Name()); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

func (f *faultFile) Sync() error {
	if err := f.fs.next("sync " + f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) Close() error {
	// What was only read cannot fail to be written.
	if !f.written {
		return f.File.Close()
	}
	err := f.fs.next("close " + f.Name())
	return errors.Join(err, f.File.Close())
}

// tree is everything below a root: contents and modes by path.
func tree(t *testing.T, fsys afero.Fs) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := afero.Walk(fsys, ".", func(path string, info fs.FileInfo, err error) error {
		if err != nil || path == "." {
			return err
		}
		path = filepath.ToSlash(path)
		if !info.Mode().IsRegular() {
			found[path] = info.Mode().String()
			return nil
		}
		content, err := afero.ReadFile(fsys, path)
		found[path] = fmt.Sprintf("%v %q", info.Mode(), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// fileSystems runs a test on an empty file system in memory and on a real folder.
func fileSystems(t *testing.T, test func(t *testing.T, newFs func() afero.Fs)) {
	t.Run("memory", func(t *testing.T) {
		test(t, func() afero.Fs { return afero.NewMemMapFs() })
	})
	t.Run("disk", func(t *testing.T) {
		test(t, func() afero.Fs {
			root, err := transaction.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { root.Close() })
			return root
		})
	})
}

// write puts files into fsys: content by path, "" for an empty folder.
func write(t *testing.T, fsys afero.Fs, files map[string]string) {
	t.Helper()
	for path, content := range files {
		if err := fsys.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := afero.WriteFile(fsys, path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func leftovers(files map[string]string) []string {
	var found []string
	for path := range files {
		if strings.Contains(path, ".kctrl-") {
			found = append(found, path)
		}
	}
	return found
}
