package markers

import (
	"bytes"
	"errors"
	"go/build"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/kctrl-dev/kctrl/internal/markers/resolve"
)

// tree is the project on disk with an overlay on top.
type tree struct {
	overlay map[string][]byte // by absolute path, nil content for a file that does not exist
	added   map[string]bool   // every folder that a file of the overlay lies in, at any depth

	matcher *resolve.Matcher // decides which files belong to a package; nil leaves it to go/build
	log     *inputLog        // what was learnt from the disk; may be nil
	seen    *sync.Map        // what was learnt of files and folders by name, so that none is read twice; nil remembers nothing
	stamps  *stampLog        // what was looked at; may be nil
}

func newTree(overlay map[string][]byte) *tree {
	t := &tree{overlay: overlay, added: map[string]bool{}}
	for name, content := range overlay {
		if content == nil {
			continue
		}
		for dir := filepath.Dir(name); !t.added[dir]; dir = filepath.Dir(dir) {
			t.added[dir] = true
		}
	}
	return t
}

func (t *tree) readFile(name string) ([]byte, error) {
	content, err := t.content(name)
	if t.log.wants(name) {
		t.log.note(AskContent, name, answerContent(content, err))
	}
	return content, err
}

func (t *tree) content(name string) ([]byte, error) {
	content, planned := t.overlay[name]
	switch {
	case !planned:
		t.stamp(name)
		return os.ReadFile(name)
	case content == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return content, nil
}

func (t *tree) open(name string) (io.ReadCloser, error) {
	if _, planned := t.overlay[name]; !planned {
		t.stamp(name)
		return os.Open(name)
	}
	content, err := t.content(name)
	return io.NopCloser(bytes.NewReader(content)), err
}

// entries reads a folder on disk.
func (t *tree) entries(dir string) ([]fs.DirEntry, error) {
	if t.seen == nil {
		return os.ReadDir(dir)
	}
	if known, ok := t.seen.Load(dir); ok {
		return known.([]fs.DirEntry), nil
	}
	t.stamp(dir)
	entries, err := os.ReadDir(dir)
	if err == nil {
		t.seen.Store(dir, entries)
	}
	return entries, err
}

func (t *tree) exists(name string) bool {
	found := t.isFile(name)
	if t.log.wants(name) {
		t.log.note(AskExists, name, answerBool(found))
	}
	return found
}

func (t *tree) isFile(name string) bool {
	if content, planned := t.overlay[name]; planned {
		return content != nil
	}
	info, err := os.Stat(name)
	t.stamps.found(name, info, err)
	return err == nil && info.Mode().IsRegular()
}

// stamp notes that name is about to be looked at.
func (t *tree) stamp(name string) {
	if t.stamps != nil {
		info, err := os.Stat(name)
		t.stamps.found(name, info, err)
	}
}

func (t *tree) isFolder(name string) bool {
	info, err := os.Stat(name)
	t.stamps.folder(name, info, err)
	found := t.added[name] || err == nil && info.IsDir()
	if t.log.wants(name) {
		t.log.note(AskFolder, name, answerBool(found))
	}
	return found
}

// list returns the names of the files and of the folders in dir, sorted.
func (t *tree) list(dir string) (files, folders []string, err error) {
	entries, err := t.entries(dir)
	if err != nil && !(errors.Is(err, fs.ErrNotExist) && t.added[dir]) {
		return nil, nil, err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		switch _, planned := t.overlay[name]; {
		case planned:
		case entry.IsDir():
			folders = append(folders, entry.Name())
		case entry.Type().IsRegular() || t.isFile(name):
			files = append(files, entry.Name())
		}
	}
	for name, content := range t.overlay {
		if content != nil && filepath.Dir(name) == dir {
			files = append(files, filepath.Base(name))
		}
	}
	for name := range t.added {
		if filepath.Dir(name) == dir && name != dir {
			folders = append(folders, filepath.Base(name))
		}
	}
	slices.Sort(files)
	slices.Sort(folders)
	return files, slices.Compact(folders), nil
}

// buildContext decides which files belong to a package: those of this platform, without cgo and without generated code.
func (t *tree) buildContext() *build.Context {
	context := build.Default
	context.CgoEnabled = false
	context.BuildTags = []string{ignoreGenerated}
	context.OpenFile = t.open
	return &context
}

// goFiles returns the names of the Go files in dir that belong to its package, sorted. Who calls it notes the answer.
func (t *tree) goFiles(dir string) ([]string, error) {
	files, _, err := t.list(dir)
	if err != nil {
		return nil, err
	}
	match := t.buildContext().MatchFile
	if t.matcher != nil {
		match = t.matcher.Match
	}
	var matched []string
	for _, name := range files {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if known, ok := t.known(filepath.Join(dir, name)); ok {
			if known.belongs {
				matched = append(matched, name)
			}
			continue
		}
		// A file whose head cannot be read counts: parsing it will say what is wrong.
		if ok, err := match(dir, name); ok || err != nil {
			matched = append(matched, name)
		}
	}
	return matched, nil
}
