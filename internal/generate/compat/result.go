package compat

import (
	"bytes"
	"os"
	"slices"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// Result is what a command generated.
type Result struct {
	// Warnings are what is wrong with markers although controller-gen passes over it.
	Warnings []error

	dir    string
	files  map[string]*bytes.Buffer // by absolute path
	stdout bytes.Buffer
	// current are the paths of files that are on disk with the right content, and not in files.
	current []string
	// isWritten is told of the files once all have the right content; may be nil.
	isWritten func(source.Stamps)
}

func newResult(dir string) *Result { return &Result{dir: dir, files: map[string]*bytes.Buffer{}} }

// Stdout returns what output rules send to standard output, in the order of generation.
func (r *Result) Stdout() []byte { return r.stdout.Bytes() }

// Files returns the files with their absolute paths, in order.
func (r *Result) Files() []artifact.File {
	var files []artifact.File
	for name, content := range r.files {
		files = append(files, artifact.File{Path: name, Content: content.Bytes()})
	}
	for _, name := range r.current {
		if content, err := os.ReadFile(name); err == nil {
			files = append(files, artifact.File{Path: name, Content: content})
		}
	}
	slices.SortFunc(files, func(a, b artifact.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}
