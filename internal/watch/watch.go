// Package watch runs something again whenever files of a project change.
//
// [Run] watches folders, all that are below them included, and waits until a burst of changes is over: an editor that
// saves, a git checkout, a code generator. Changes that come while it runs lead to one more run. Nothing runs twice at
// the same time.
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
	// quiet is how long nothing must change before it runs, and patience how long it waits for that.
	quiet    = 75 * time.Millisecond
	patience = time.Second
)

// Options say what to watch.
type Options struct {
	// Folders are watched with everything below them, save what is hidden and what no Go package can be in.
	Folders []string
	// Run is called at the start, and after every burst of changes. What it returns is watched, too. An error ends Run.
	Run func(ctx context.Context) (More, error)
}

// More is what is watched beside the folders of [Options].
type More struct {
	// Folders are watched without what is below them.
	Folders []string
	// Files are watched one by one, whether they are there or not. Their folders may be full of what matters to nobody.
	Files []string
}

// Run watches until ctx ends, and returns nil then. An error is one of Options.Run, or says that a folder cannot be
// watched.
func Run(ctx context.Context, o Options) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	w := &folders{watcher: watcher, whole: map[string]bool{}, files: map[string]bool{}}
	changes := make(chan struct{}, 1)
	failed := make(chan error, 1)
	var following sync.WaitGroup
	following.Go(func() { w.follow(changes, failed) })
	defer following.Wait()
	defer watcher.Close()
	for _, dir := range o.Folders {
		if err := w.addAll(dir); err != nil {
			return err
		}
	}
	return loop(ctx, changes, failed, func(ctx context.Context) error {
		more, err := o.Run(ctx)
		for _, dir := range more.Folders {
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

// folders are the folders that are watched. It is safe for concurrent use.
type folders struct {
	watcher *fsnotify.Watcher

	mu    sync.Mutex
	whole map[string]bool // folders in which everything matters
	files map[string]bool // files that matter in other folders
}

// follow reports changes until the watcher is closed, and watches folders that are new.
func (w *folders) follow(changes chan<- struct{}, failed chan<- error) {
	for {
		select {
		case event, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			if !matters(event) || !w.wants(event.Name) {
				continue
			}
			if event.Has(fsnotify.Create) {
				// What cannot be watched may be gone again.
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
		default: // The one that is waiting stands for this one, too.
		}
	}
}

// addAll watches a folder and all below it. A file is nothing to watch.
func (w *folders) addAll(dir string) error {
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

// add watches one folder. One that is gone is watched no more by itself.
func (w *folders) add(dir string) error {
	w.mu.Lock()
	w.whole[filepath.Clean(dir)] = true
	w.mu.Unlock()
	return w.watch(dir)
}

// addFile watches one file.
func (w *folders) addFile(name string) error {
	name = filepath.Clean(name)
	w.mu.Lock()
	w.files[name] = true
	w.mu.Unlock()
	return w.watch(filepath.Dir(name))
}

// watch asks for the events of a folder. What is not there, or cannot be read, has none.
func (w *folders) watch(dir string) error {
	err := w.watcher.Add(dir)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
		return nil
	}
	return err
}

// wants reports whether what happens to a file or folder matters.
func (w *folders) wants(name string) bool {
	name = filepath.Clean(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.files[name] || w.whole[name] || w.whole[filepath.Dir(name)]
}

// skipped reports whether a folder has nothing that a generator reads.
func skipped(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules"
}

// matters reports whether an event can be about something that a generator reads. Editors and kctrl itself make hidden
// files for a moment.
func matters(event fsnotify.Event) bool {
	name := filepath.Base(event.Name)
	return !event.Op.Has(fsnotify.Chmod) && !strings.HasPrefix(name, ".") && !strings.HasSuffix(name, "~")
}
