// Package artifact keeps the output of generators in memory, so that nothing is written if there is an error.
package artifact

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// File is one generated file.
type File struct {
	// Path is relative to the project, with slashes.
	Path    string
	Content []byte
	// Generator is the name of its generator in PROJECT.lock. It is empty for a file that postprocessing adds, and outside
	// of projects.
	Generator string
}

// Header is the text at the beginning of generated files, usually a license.
type Header struct {
	// Text is unchanged, except that " YEAR" is replaced by a space and Year.
	Text string
	Year string
}

// Path is the path of the header file for the generators of controller-tools. It is empty if there is no header.
func (h Header) Path() string {
	if h.Text == "" {
		return ""
	}
	return "header"
}

// OpenForRead returns the text for any path, for the generators of controller-tools.
func (h Header) OpenForRead(string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(h.Text)), nil
}

// ReadHeader reads a header file with the input rule of ctx, and replaces YEAR by year. Without a file it returns "".
func ReadHeader(ctx genall.GenerationContext, file, year string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := ctx.ReadFile(file)
	return strings.ReplaceAll(string(text), " YEAR", " "+year), err
}

// ReadCodeHeader is [ReadHeader] for the header of Go files, which must be a comment.
func ReadCodeHeader(ctx genall.GenerationContext, file, year string) (string, error) {
	header, err := ReadHeader(ctx, file, year)
	if err != nil {
		return "", err
	}
	return header, diagnostic.CodeHeader(file, header)
}

// Sink is an output rule that keeps the files of a generator of controller-tools. It is not safe for concurrent use.
type Sink struct {
	// Dir is the base of relative paths, absolute.
	Dir string
	// Rule determines the path of a file.
	Rule genall.OutputRule
	// Stdout receives the output of genall.OutputToStdout.
	Stdout io.Writer

	files map[string]*bytes.Buffer // by absolute path
}

var (
	_ genall.OutputRule = (*Sink)(nil)
	_ genall.InputRule  = Header{}
)

// Open starts a file. It truncates a file that was started before.
func (s *Sink) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	switch rule := s.Rule.(type) {
	case genall.OutputToDirectory:
		return s.add(string(rule), name), nil
	case genall.OutputArtifacts:
		switch {
		case pkg == nil:
			return s.add(string(rule.Config), name), nil
		case rule.Code != "":
			return s.add(string(rule.Code), name), nil
		case len(pkg.CompiledGoFiles) == 0:
			return nil, errors.New("cannot write beside a package without files")
		}
		return s.add(filepath.Dir(pkg.CompiledGoFiles[0]), name), nil
	}
	if s.Rule == genall.OutputToStdout {
		return nopCloser{s.Stdout}, nil
	}
	return nopCloser{io.Discard}, nil
}

// Write writes a file by its absolute path and ignores the rule.
func (s *Sink) Write(f File) error {
	_, err := s.add("", f.Path).Write(f.Content)
	return err
}

func (s *Sink) add(folder, name string) io.WriteCloser {
	if name = filepath.Join(folder, name); !filepath.IsAbs(name) {
		name = filepath.Join(s.Dir, name)
	}
	if s.files == nil {
		s.files = map[string]*bytes.Buffer{}
	}
	buffer := &bytes.Buffer{}
	s.files[name] = buffer
	return nopCloser{buffer}
}

// Files returns the files with absolute paths, by path.
func (s *Sink) Files() []File {
	var files []File
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		files = append(files, File{Path: name, Content: s.files[name].Bytes()})
	}
	return files
}

// nopCloser is a writer whose Close does nothing.
type nopCloser struct{ io.Writer }

// Close returns nil.
func (nopCloser) Close() error { return nil }

// ReadError returns the error for a file in an option that cannot be read.
func ReadError(name string, err error) error {
	return &diagnostic.Error{
		Message: fmt.Sprintf("cannot read %q: %s", name, diagnostic.PlainCause(err)),
		Hint:    cmp.Or(regular.Remedy(err), "paths in options are relative to the directory that kctrl runs in"),
		Cause:   err,
	}
}

// OutputError returns the error for an output outside of the project.
func OutputError(name, message string) error {
	return diagnostic.Usage(fmt.Sprintf("output %q %s", name, message),
		"name it relative to the project, such as config/crd/bases; kctrl gen writes anywhere")
}
