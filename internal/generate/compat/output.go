package compat

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"

	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// memory is an output rule that keeps what its generator writes. It is for one goroutine.
type memory struct {
	dir    string // what paths are relative to
	rule   genall.OutputRule
	result *Result
}

var _ genall.OutputRule = memory{}

// Open begins a file. One that was begun before is begun anew.
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
		return nopCloser{&m.result.stdout}, nil
	}
	return nopCloser{io.Discard}, nil
}

func (m memory) file(folder, name string) io.WriteCloser {
	name = filepath.Join(folder, name)
	if !filepath.IsAbs(name) {
		name = filepath.Join(m.dir, name)
	}
	buffer := &bytes.Buffer{}
	m.result.files[name] = buffer
	return nopCloser{buffer}
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
