package transaction

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/spf13/afero"
)

// Step is called before every step that changes the disk, for tests that end the process there. Nil is for everybody else.
// Syncs that go on at once are one step.
var Step func()

// disk is what a transaction asks of a file system. Each of the methods that change something is one step.
type disk struct{ afero.Fs }

// linker is a file system that has hard links.
type linker interface {
	Link(from, to string) error
}

func step() {
	if Step != nil {
		Step()
	}
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

// removeFound removes a file if it is there.
func (d disk) removeFound(name string) error {
	if _, found := d.find(name); !found {
		return nil
	}
	return d.remove(name)
}

func (d disk) mkdir(name string, mode fs.FileMode) error {
	step()
	return d.Mkdir(name, mode)
}

func (d disk) chmod(name string, mode fs.FileMode) error {
	step()
	return d.Chmod(name, mode)
}

// writeNew writes a file that does not exist.
func (d disk) writeNew(name string, content []byte, mode fs.FileMode) error {
	return d.write(name, os.O_CREATE|os.O_EXCL, mode, content)
}

// appendTo appends to a file.
func (d disk) appendTo(name, text string) error { return d.write(name, os.O_APPEND, 0, []byte(text)) }

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

// sync waits until the contents of files are on disk, or the names in folders. All are asked for at once, which takes not much longer than
// one. A failure is told of the target of each.
func (d disk) sync(names, targets []string) error {
	step()
	errs := make([]error, len(names))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(syncsAtOnce, len(names)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(names)); i = next.Add(1) - 1 {
				errs[i] = d.syncFile(names[i], targets[i])
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

const syncsAtOnce = 32

func (d disk) syncFile(name, target string) error {
	file, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return writeError(target, err)
	}
	defer file.Close()
	// Where nothing can be made sure of, nothing is lost by going on.
	if err := file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return writeError(target, err)
	}
	return nil
}

// reserve makes an empty file, if there is none.
func (d disk) reserve(name string) error {
	step()
	file, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// removeIfEmpty removes a folder unless something is in it.
func (d disk) removeIfEmpty(dir string) error {
	entries, err := afero.ReadDir(d, dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return d.remove(dir)
}

// lstat describes name itself where the file system knows symbolic links.
func (d disk) lstat(name string) (fs.FileInfo, error) {
	if l, ok := d.Fs.(afero.Lstater); ok {
		info, _, err := l.LstatIfPossible(name)
		return info, err
	}
	return d.Stat(name)
}

// find describes a file, if there is a plain one of that name.
func (d disk) find(name string) (fs.FileInfo, bool) {
	info, err := d.lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	return info, true
}

// hashFile returns the hash of what a file holds, or "" if that cannot be told.
func (d disk) hashFile(name string) string {
	file, err := d.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// hash returns the hash of a content, "" for none.
func hash(content []byte) string {
	if content == nil {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
