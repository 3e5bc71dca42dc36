package compat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// disk reads the header files and manifests that options name, relative to a folder.
type disk string

// OpenForRead opens a file. An error names it as the user did.
func (d disk) OpenForRead(name string) (io.ReadCloser, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(string(d), path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, readError(name, err)
	}
	return file, nil
}

func readError(name string, err error) error {
	cause := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		cause = e.Err
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("cannot read %q: %v", name, cause),
		Hint:    "paths in options are relative to the folder that kctrl runs in",
		Cause:   err,
	}
}
