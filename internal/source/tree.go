package source

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

	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// Tree is the project on disk with an overlay on top.
type Tree struct {
	overlay map[string][]byte // by absolute path; nil content means that the file does not exist
	added   map[string]bool   // all parent directories of the files in the overlay
	tags    []string          // build tags

	environment *resolve.Environment // nil if unusual is set: the reason why the settings are unknown
	unusual     error
	resolvers   map[string]*resolve.Resolver // by directory of the main module

	matcher *resolve.Matcher // decides which files belong to a package; nil means go/build
	log     *inputLog        // questions and answers; may be nil
	seen    *sync.Map        // results by name of file or directory, so that none is read twice; nil disables it
	stamps  *stampLog        // stamps of the files that were read; may be nil
}

// NewTree returns the project on disk with an overlay of planned files by absolute path. Nil content means that a file
// does not exist. Package go/build decides which files belong to a package.
func NewTree(overlay map[string][]byte) *Tree {
	t := &Tree{overlay: overlay, added: map[string]bool{}, tags: []string{resolve.DefaultTag}}
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

// Open returns a tree that applies the settings of the go command, unless unusual is set, and records its inputs. Nil
// tags mean [resolve.DefaultTag].
func Open(environment *resolve.Environment, unusual error, overlay map[string][]byte, tags []string) *Tree {
	t := NewTree(overlay)
	if tags != nil {
		t.tags = tags
	}
	t.environment, t.unusual = environment.WithTags(tags), unusual
	if t.unusual == nil {
		t.use(t.environment)
	}
	return t
}

// Environment returns the settings of the go command.
func (t *Tree) Environment() (*resolve.Environment, error) { return t.environment, t.unusual }

// Overlay returns the planned files. The caller must not modify them.
func (t *Tree) Overlay() map[string][]byte { return t.overlay }

// ReadFile reads a file, and records its content as an input.
func (t *Tree) ReadFile(name string) ([]byte, error) {
	content, err := t.content(name)
	if t.log.includes(name) {
		t.log.note(AskContent, name, answerContent(content, err))
	}
	return content, err
}

func (t *Tree) content(name string) ([]byte, error) {
	content, planned := t.overlay[name]
	switch {
	case !planned:
		t.stamp(name)
		return regular.ReadFile(name)
	case content == nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return content, nil
}

func (t *Tree) open(name string) (io.ReadCloser, error) {
	if _, planned := t.overlay[name]; !planned {
		t.stamp(name)
		return regular.Open(name)
	}
	content, err := t.content(name)
	return io.NopCloser(bytes.NewReader(content)), err
}

func (t *Tree) entries(dir string) ([]fs.DirEntry, error) {
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

// Exists reports whether name is a regular file.
func (t *Tree) Exists(name string) bool {
	found := t.isFile(name)
	t.note(AskExists, name, answerBool(found))
	return found
}

func (t *Tree) isFile(name string) bool {
	if content, planned := t.overlay[name]; planned {
		return content != nil
	}
	info, err := os.Stat(name)
	t.stamps.found(name, info, err)
	return err == nil && info.Mode().IsRegular()
}

// stamp records the state of name before it is read.
func (t *Tree) stamp(name string) {
	if t.stamps != nil {
		info, err := os.Stat(name)
		t.stamps.found(name, info, err)
	}
}

// IsDir reports whether name is a directory.
func (t *Tree) IsDir(name string) bool {
	info, err := os.Stat(name)
	t.stamps.dir(name, info, err)
	found := t.added[name] || err == nil && info.IsDir()
	t.note(AskFolder, name, answerBool(found))
	return found
}

// List returns the names of the files and of the directories in dir, sorted.
func (t *Tree) List(dir string) (files, folders []string, err error) {
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

// buildContext returns the build context for this platform, without cgo and without generated code.
func (t *Tree) buildContext() *build.Context {
	context := build.Default
	context.CgoEnabled = false
	context.BuildTags = t.tags
	context.OpenFile = t.open
	return &context
}

// sources returns the names of the Go files in dir, sorted. It omits tests.
func (t *Tree) sources(dir string) ([]string, error) {
	files, _, err := t.List(dir)
	return slices.DeleteFunc(files, func(name string) bool {
		return !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")
	}), err
}

// GoFiles returns the names of the Go files in dir that belong to its package, sorted. The caller records the answer.
func (t *Tree) GoFiles(dir string) ([]string, error) {
	names, err := t.sources(dir)
	match := t.buildContext().MatchFile
	if t.matcher != nil {
		match = t.matcher.Match
	}
	return slices.DeleteFunc(names, func(name string) bool {
		if known, ok := t.known(filepath.Join(dir, name)); ok {
			return !known.belongs
		}
		// A file with an unreadable head is included, because the parser reports the error.
		belongs, err := match(dir, name)
		return !belongs && err == nil
	}), err
}

// UsesC reports whether a directory has Go files that use cgo. It returns true for an unreadable directory.
func (t *Tree) UsesC(dir string) bool {
	names, err := t.sources(dir)
	found := err != nil || slices.ContainsFunc(names, func(name string) bool {
		name = filepath.Join(dir, name)
		if known, ok := t.known(name); ok && !known.usesC {
			return false
		}
		content, err := t.content(name)
		return err != nil || importsCgo(content)
	})
	t.note(AskUsesC, dir, answerBool(found))
	return found
}

func importsCgo(content []byte) bool { return resolve.UsesC("", content) }

// CgoFiles returns the names of the Go files in a directory that use cgo and belong to its package only with cgo,
// sorted. belong are the files that belong to it without cgo, from [Tree.GoFiles].
func (t *Tree) CgoFiles(dir string, belong []string) ([]string, error) {
	context := t.buildContext()
	context.CgoEnabled = true
	match := context.MatchFile
	if t.matcher != nil {
		match = t.matcher.WithCgo().Match
	}
	names, err := t.sources(dir)
	names = slices.DeleteFunc(names, func(name string) bool {
		if slices.Contains(belong, name) {
			return true
		}
		if content, err := t.content(filepath.Join(dir, name)); err != nil || !importsCgo(content) {
			return true
		}
		belongs, err := match(dir, name)
		return !belongs || err != nil
	})
	t.note(AskCgoFiles, dir, answerNames(names, err))
	return names, err
}

// LeftOut returns the names of the Go files in a directory that do not belong to its package, sorted. It omits tests.
func (t *Tree) LeftOut(dir string) ([]string, error) {
	belong, _ := t.GoFiles(dir)
	names, err := t.sources(dir)
	names = slices.DeleteFunc(names, func(name string) bool {
		_, belongs := slices.BinarySearch(belong, name)
		return belongs
	})
	t.note(AskLeftOut, dir, answerNames(names, err))
	return names, err
}

// Resolver returns the resolver for the main module in a directory.
func (t *Tree) Resolver(dir string) (*resolve.Resolver, error) {
	if known := t.resolvers[dir]; known != nil {
		return known, nil
	}
	if t.unusual != nil {
		return nil, t.unusual
	}
	found, err := resolve.New(resolveFS{t}, t.environment, dir)
	if err == nil {
		if t.resolvers == nil {
			t.resolvers = map[string]*resolve.Resolver{}
		}
		t.resolvers[dir] = found
	}
	return found, err
}

// Ask records the questions that the go command has about the module in a directory. It returns nil if the settings of
// the go command are unknown.
func (t *Tree) Ask(dir string) *resolve.Asked {
	if t.unusual != nil {
		return nil
	}
	asked, _ := resolve.Ask(resolveFS{t}, t.environment, dir)
	return asked
}

// resolveFS is a tree as a [resolve.FS].
type resolveFS struct{ tree *Tree }

func (f resolveFS) ReadFile(name string) ([]byte, error)    { return f.tree.ReadFile(name) }
func (f resolveFS) Open(name string) (io.ReadCloser, error) { return f.tree.open(name) }
func (f resolveFS) Exists(name string) bool                 { return f.tree.Exists(name) }
func (f resolveFS) IsDir(name string) bool                  { return f.tree.IsDir(name) }

// GoNames returns the names of the Go files in a directory. As an input it records only whether the directory has any.
func (f resolveFS) GoNames(dir string) (names []string, err error) {
	if len(f.tree.overlay) == 0 {
		names, err = f.namesOnDisk(dir)
	} else {
		names, _, err = f.tree.List(dir)
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".go") })
	}
	f.tree.note(AskAnyGoFile, dir, answerBool(err == nil && len(names) > 0))
	return names, err
}

// namesOnDisk is GoNames without an overlay.
func (f resolveFS) namesOnDisk(dir string) ([]string, error) {
	var names []string
	entries, err := f.tree.entries(dir)
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".go") && (entry.Type().IsRegular() ||
			f.tree.isFile(filepath.Join(dir, entry.Name()))) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
