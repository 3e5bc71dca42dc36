// Package artifact keeps the output of generators in memory, so that nothing is written if there is an error.
package artifact

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
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

// Sink collects the files of generators of controller-tools. The zero value puts all files in the root of the project.
// It is not safe for concurrent use.
type Sink struct {
	// Root is the absolute directory of the project. Code is put beside its package.
	Root string
	// Dir is the directory of all other files, relative to Root.
	Dir string

	files map[string]*bytes.Buffer // by path
}

var (
	_ genall.OutputRule = (*Sink)(nil)
	_ genall.InputRule  = Header{}
)

// Open starts a file in the directory of pkg, or in s.Dir if pkg is nil.
func (s *Sink) Open(pkg *loader.Package, name string) (io.WriteCloser, error) {
	folder := s.Dir
	if pkg != nil {
		rel, err := filepath.Rel(s.Root, filepath.Dir(pkg.CompiledGoFiles[0]))
		if err != nil {
			return nil, err
		}
		folder = filepath.ToSlash(rel)
	}
	return NopCloser{s.add(path.Join(folder, name))}, nil
}

// Write writes a file by its absolute path, which must be in the project.
func (s *Sink) Write(f File) error {
	rel, err := filepath.Rel(s.Root, f.Path)
	if err != nil || !filepath.IsLocal(rel) {
		return OutputError(f.Path, "is outside the project")
	}
	s.add(filepath.ToSlash(rel)).Write(f.Content)
	return nil
}

// add starts a file.
func (s *Sink) add(name string) *bytes.Buffer {
	if s.files == nil {
		s.files = map[string]*bytes.Buffer{}
	}
	buffer := &bytes.Buffer{}
	s.files[name] = buffer
	return buffer
}

// Files returns the files by path.
func (s *Sink) Files() []File {
	var files []File
	for name, buffer := range s.files {
		files = append(files, File{Path: name, Content: buffer.Bytes()})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// NopCloser is a writer whose Close does nothing.
type NopCloser struct{ io.Writer }

// Close returns nil.
func (NopCloser) Close() error { return nil }

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
	return &diagnostic.Error{
		Message: fmt.Sprintf("output %q %s", name, message),
		Hint:    "name it relative to the project, such as config/crd/bases; kctrl gen writes anywhere",
		Class:   diagnostic.ErrUsage,
	}
}
