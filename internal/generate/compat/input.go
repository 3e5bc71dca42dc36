package compat

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// disk reads the header files and manifests that options name.
type disk struct {
	dir  string // what names are relative to
	read func(name string) ([]byte, error)
}

// OpenForRead opens a file. An error names it as the user did.
func (d disk) OpenForRead(name string) (io.ReadCloser, error) {
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(d.dir, path)
	}
	content, err := d.read(path)
	if err != nil {
		return nil, readError(name, err)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func readError(name string, err error) error {
	return &diagnostic.Error{
		Message: fmt.Sprintf("cannot read %q: %s", name, diagnostic.PlainCause(err)),
		Hint:    cmp.Or(regular.Remedy(err), "paths in options are relative to the folder that kctrl runs in"),
		Cause:   err,
	}
}
