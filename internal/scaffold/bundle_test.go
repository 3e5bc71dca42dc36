package scaffold_test

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kctrl-dev/kctrl"
)

const (
	// maxBundledLines and maxBundledBytes limit the runtime that a new project commits.
	maxBundledLines = 40_000
	maxBundledBytes = 1_400_000
)

// TestProjectsBundleWhatTheyImport compares the bundled packages of the runtime in a new project with the direct and
// indirect imports of golden projects.
func TestProjectsBundleWhatTheyImport(t *testing.T) {
	p := newProject(t)
	p.initialize(t, stories()[0].init)
	bundled, lines, size := map[string]bool{}, 0, 0
	for name, text := range readTree(t, filepath.Join(p.dir, "third_party", "kctrl")) {
		lines, size = lines+bytes.Count(text, []byte("\n")), size+len(text)
		if path.Ext(name) == ".go" {
			bundled[path.Dir(name)] = true
		}
	}
	imported := map[string]bool{}
	for _, story := range stories() {
		addImports(t, os.DirFS(filepath.Join("..", "..", "testdata", story.golden)), ".", imported)
	}
	for queue := slices.Collect(maps.Keys(imported)); len(queue) > 0; queue = queue[1:] {
		more := map[string]bool{}
		addImports(t, kctrl.Source, queue[0], more)
		for name := range more {
			if !imported[name] {
				imported[name] = true
				queue = append(queue, name)
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(imported)), slices.Sorted(maps.Keys(bundled))); diff != "" {
		t.Errorf("packages of the runtime (-imported +bundled):\n%s", diff)
	}

	t.Logf("%d packages, %d lines, %d bytes", len(bundled), lines, size)
	if lines > maxBundledLines || size > maxBundledBytes {
		t.Errorf("projects bundle %d lines and %d bytes, more than %d and %d", lines, size, maxBundledLines, maxBundledBytes)
	}
}

// addImports adds the packages of the runtime that the Go files below a directory import. The directory is a project,
// or one package of the runtime. In the runtime, tests are ignored.
func addImports(t *testing.T, fsys fs.FS, root string, into map[string]bool) {
	t.Helper()
	err := fs.WalkDir(fsys, root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && root != "." && name != root, root != "." && strings.HasSuffix(name, "_test.go"):
			return skip(entry)
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			if pkg, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), runtimeModule+"/"); ours {
				into[pkg] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func skip(entry fs.DirEntry) error {
	if entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}
