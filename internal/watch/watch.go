// Package watch calls a function again whenever files of a project change.
//
// [Run] watches directories recursively and waits for the end of a burst of changes, such as the changes of an editor,
// a git checkout or a code generator. Changes during a call cause one more call. Calls do not overlap.
package watch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// quiet is the time without changes that ends a burst, and patience limits the wait for it.
	quiet    = 75 * time.Millisecond
	patience = time.Second
)

// Options configure Run.
type Options struct {
	// Dirs are watched recursively, except hidden directories and directories that cannot hold Go packages.
	Dirs []string
	// Run is called at the start and after every burst of changes. It returns further files and directories to watch. An
	// error ends Run.
	Run func(ctx context.Context) (More, error)
}

// More lists files and directories to watch in addition to [Options].
type More struct {
	// Dirs are watched without their subdirectories.
	Dirs []string
	// Files are watched individually and need not exist. Changes of other files in their directories are ignored.
	Files []string
}

// Run watches until ctx ends and then returns nil. It returns the error of Options.Run, or an error if it cannot watch
// a directory.
func Run(ctx context.Context, o Options) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	w := &directories{watcher: watcher, whole: map[string]bool{}, files: map[string]bool{}}
	changes := make(chan struct{}, 1)
	failed := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() { w.follow(changes, failed) })
	defer following.Wait()
	defer watcher.Close()
	for _, dir := range o.Dirs {
		if err := w.addAll(dir + string(filepath.Separator)); err != nil { // follows a symbolic link
			return err
		}
	}
	return loop(ctx, changes, failed, func(ctx context.Context) error {
		more, err := o.Run(ctx)
		for _, dir := range more.Dirs {
			err = errors.Join(err, w.add(dir))
		}
		for _, name := range more.Files {
			err = errors.Join(err, w.addFile(name))
		}
		return err
	})
}

// loop calls run at the start, and after every burst of changes.
func loop(ctx context.Context, changes <-chan struct{}, failed <-chan error, run func(context.Context) error) error {
	for {
		if err := run(ctx); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case err := <-failed:
			return err
		case <-changes:
		}
		awaitQuiet(ctx, changes)
	}
}

// awaitQuiet waits for the end of a burst of changes.
func awaitQuiet(ctx context.Context, changes <-chan struct{}) {
	limit := time.After(patience)
	for {
		select {
		case <-ctx.Done():
			return
		case <-limit:
			return
		case <-time.After(quiet):
			return
		case <-changes:
		}
	}
}

// directories are the watched directories. It is safe for concurrent use.
type directories struct {
	watcher *fsnotify.Watcher

	mu    sync.Mutex
	whole map[string]bool // directories in which every file matters
	files map[string]bool // single files that matter in other directories
}

// follow reports changes until the watcher is closed, and watches new directories.
func (w *directories) follow(changes chan<- struct{}, failed chan<- error) {
	for {
		select {
		case event, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			if !matters(event) || !w.watches(event.Name) {
				continue
			}
			if event.Has(fsnotify.Create) {
				// A directory that cannot be watched may already be deleted.
				_ = w.addAll(event.Name)
			}
		case err, ok := <-w.watcher.Errors:
			if !ok {
				return
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				failed <- err
				return
			}
		}
		select {
		case changes <- struct{}{}:
		default: // The pending notification covers this change as well.
		}
	}
}

// addAll watches a directory recursively. It ignores files.
func (w *directories) addAll(dir string) error {
	return filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && name == dir:
			return err
		case err != nil || !entry.IsDir():
			return nil
		case name != dir && skipped(entry.Name()):
			return filepath.SkipDir
		}
		return w.add(name)
	})
}

// add watches one directory. The watcher forgets deleted directories by itself.
func (w *directories) add(dir string) error {
	w.mu.Lock()
	w.whole[filepath.Clean(dir)] = true
	w.mu.Unlock()
	return w.watch(dir)
}

// addFile watches one file.
func (w *directories) addFile(name string) error {
	name = filepath.Clean(name)
	w.mu.Lock()
	w.files[name] = true
	w.mu.Unlock()
	return w.watch(filepath.Dir(name))
}

// watch subscribes to the events of a directory. It ignores a missing or unreadable directory.
func (w *directories) watch(dir string) error {
	err := w.watcher.Add(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	return err
}

// watches reports whether a change of a file or directory matters.
func (w *directories) watches(name string) bool {
	name = filepath.Clean(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.files[name] || w.whole[name] || w.whole[filepath.Dir(name)]
}

// skipped reports whether a directory cannot contain input of a generator.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules"
}

// matters reports whether an event may concern a file that a generator reads. Editors and kctrl itself create hidden
// files temporarily.
func matters(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return !event.Op.Has(fsnotify.Chmod) && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~")
}
