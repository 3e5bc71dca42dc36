package compat

import (
	"bytes"
	"maps"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

// Result is what a command generated.
type Result struct {
	// Warnings are what is wrong with markers although controller-gen passes over it.
	Warnings []error

	dir    string
	files  map[string]*bytes.Buffer // by absolute path
	stdout bytes.Buffer
}

func newResult(dir string) *Result { return &Result{dir: dir, files: map[string]*bytes.Buffer{}} }

// Stdout returns what output rules send to standard output, in the order of generation.
func (r *Result) Stdout() []byte { return r.stdout.Bytes() }

// Files returns the files with their absolute paths, in order.
func (r *Result) Files() []artifact.File {
	var files []artifact.File
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		files = append(files, artifact.File{Path: name, Content: r.files[name].Bytes()})
	}
	return files
}
