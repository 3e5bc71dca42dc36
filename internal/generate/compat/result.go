package compat

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
)

// Result is the output of a command.
type Result struct {
	// Warnings are problems of markers that controller-gen ignores.
	Warnings []error

	dir    string
	files  map[string][]byte // by absolute path
	stdout bytes.Buffer
}

func newResult(dir string) *Result {
	return &Result{dir: dir, files: map[string][]byte{}}
}

// Stdout returns the output of rules that write to stdout, in the order of generation.
func (r *Result) Stdout() []byte { return r.stdout.Bytes() }

// Files returns the files with their absolute paths, in order.
func (r *Result) Files() []artifact.File {
	var files []artifact.File
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		files = append(files, artifact.File{Path: name, Content: r.files[name]})
	}
	return files
}

// generated returns the files with paths relative to the directory of the command. Output to stdout is a file without a
// path.
func (r *Result) generated() []artifact.File {
	files := r.Files()
	for i, f := range files {
		if rel, err := filepath.Rel(r.dir, f.Path); err == nil {
			files[i].Path = filepath.ToSlash(rel)
		}
	}
	if r.stdout.Len() > 0 {
		files = append(files, artifact.File{Content: slices.Clone(r.stdout.Bytes())})
	}
	return files
}

func (r *Result) replace(files []artifact.File) {
	clear(r.files)
	r.stdout.Reset()
	for _, f := range files {
		if f.Path == "" {
			r.stdout.Write(f.Content)
			continue
		}
		r.files[absolute(r.dir, filepath.FromSlash(f.Path))] = f.Content
	}
}
