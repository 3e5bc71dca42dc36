package compat

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/postprocess"
	"github.com/kctrl-dev/kctrl/internal/source"
)

// Result is the output of a command.
type Result struct {
	// Warnings are problems of markers that controller-gen ignores.
	Warnings []error

	dir    string
	files  map[string]*bytes.Buffer // by absolute path
	origin map[string]string        // the generator of each file, by file name
	stdout bytes.Buffer
	// current lists the files that are on disk with the right content. They are not in files.
	current []string
	// isWritten is called with the stamps of the files after all have the right content. It may be nil.
	isWritten func(source.Stamps)
}

func newResult(dir string) *Result {
	return &Result{dir: dir, files: map[string]*bytes.Buffer{}, origin: map[string]string{}}
}

// Stdout returns the output of rules that write to stdout, in the order of generation.
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

// generated returns the files with paths relative to the directory of the command. Output to stdout is a file without a
// path.
func (r *Result) generated() []postprocess.File {
	var files []postprocess.File
	for _, f := range r.Files() {
		generator := r.origin[f.Path]
		if rel, err := filepath.Rel(r.dir, f.Path); err == nil {
			f.Path = filepath.ToSlash(rel)
		}
		files = append(files, postprocess.File{File: f, Generator: generator})
	}
	if r.stdout.Len() > 0 {
		files = append(files, postprocess.File{File: artifact.File{Content: slices.Clone(r.stdout.Bytes())}})
	}
	return files
}

func (r *Result) replace(files []postprocess.File) {
	clear(r.files)
	r.stdout.Reset()
	for _, f := range files {
		if f.Path == "" {
			r.stdout.Write(f.Content)
			continue
		}
		r.files[absolute(r.dir, filepath.FromSlash(f.Path))] = bytes.NewBuffer(f.Content)
	}
}

// memory is an output rule that stores the output of its generator. It is not safe for concurrent use.
type memory struct {
	dir       string // base of relative paths
	rule      genall.OutputRule
	generator string // its name
	result    *Result
}

var _ genall.OutputRule = memory{}

// Open starts a file. It truncates a file that was started before.
func (m memory) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	switch rule := m.rule.(type) {
	case genall.OutputToDirectory:
		return m.file(string(rule), name), nil
	case genall.OutputArtifacts:
		switch {
		case pkg == nil:
			return m.file(string(rule.Config), name), nil
		case rule.Code != "":
			return m.file(string(rule.Code), name), nil
		case len(pkg.CompiledGoFiles) == 0:
			return nil, errors.New("cannot write beside a package without files")
		}
		return m.file(filepath.Dir(pkg.CompiledGoFiles[0]), name), nil
	}
	if m.rule == genall.OutputToStdout {
		return artifact.NopCloser{Writer: &m.result.stdout}, nil
	}
	return artifact.NopCloser{Writer: io.Discard}, nil
}

func (m memory) file(folder, name string) io.WriteCloser {
	name = absolute(m.dir, filepath.Join(folder, name))
	buffer := &bytes.Buffer{}
	m.result.files[name], m.result.origin[name] = buffer, m.generator
	return artifact.NopCloser{Writer: buffer}
}

// write writes a file by its absolute path and ignores the output rule.
func (m memory) write(f artifact.File) error {
	_, err := m.file("", f.Path).Write(f.Content)
	return err
}
