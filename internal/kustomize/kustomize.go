// Package kustomize builds kustomizations as the kustomize program does, but does not need the program.
package kustomize

import (
	"bytes"
	"errors"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Build returns the objects of the kustomization in dir, in an order in which they can be applied. It writes nothing.
// The argument hint becomes the hint of an error about a missing kustomization.
func Build(dir, hint string) (resmap.ResMap, error) {
	return build(dir, hint, nil)
}

// BuildIn is like Build for a directory of a project, but replaces the contents of some files, by their absolute paths.
// Errors have names relative to the project.
func BuildIn(project, dir, hint string, contents map[string][]byte) (resmap.ResMap, error) {
	resources, err := build(filepath.Join(project, filepath.FromSlash(dir)), hint, contents)
	if e, ok := errors.AsType[*diagnostic.Error](err); ok {
		e.Pos = diagnostic.Relative(project, e.Pos)
		e.Message = strings.ReplaceAll(e.Message, project+string(filepath.Separator), "")
	}
	return resources, err
}

func build(dir, hint string, contents map[string][]byte) (resmap.ResMap, error) {
	if info, err := os.Stat(dir); err != nil {
		e := diagnostic.AtFile(dir, "cannot read", err)
		if e.Hint == "" {
			e.Hint = hint
		}
		return nil, e
	} else if !info.IsDir() {
		return nil, diagnostic.In(dir, "is not a directory", hint)
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy // as the program does: namespaces come first, webhooks last
	resources, err := quietly(func() (resmap.ResMap, error) {
		return krusty.MakeKustomizer(options).Run(&overlay{filesys.MakeFsOnDisk(), contents}, dir)
	})
	if err != nil {
		return nil, &diagnostic.Error{Pos: token.Position{Filename: dir}, Message: diagnostic.OneLine(err.Error()),
			Hint: hint, Cause: err}
	}
	return resources, nil
}

// stderr guards os.Stderr during a build.
var stderr sync.Mutex

// quietly runs a build without the warnings about deprecated fields that kustomize prints to os.Stderr, for each build
// again.
func quietly(run func() (resmap.ResMap, error)) (resmap.ResMap, error) {
	stderr.Lock()
	defer stderr.Unlock()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return run()
	}
	defer null.Close()
	before := os.Stderr
	os.Stderr = null
	defer func() { os.Stderr = before }()
	return run()
}

// overlay is a file system that replaces the contents of some files.
type overlay struct {
	filesys.FileSystem
	contents map[string][]byte
}

func (o *overlay) ReadFile(name string) ([]byte, error) {
	if content, ok := o.other(name); ok {
		return bytes.Clone(content), nil
	}
	return o.FileSystem.ReadFile(name)
}

// other returns the content that replaces a file, if any.
func (o *overlay) other(name string) ([]byte, bool) {
	absolute, err := filepath.Abs(name)
	content, ok := o.contents[absolute]
	return content, ok && err == nil
}

// Exists also returns true for files that exist only in the overlay.
func (o *overlay) Exists(name string) bool {
	_, ok := o.other(name)
	return ok || o.FileSystem.Exists(name)
}

// CleanedAbs returns the path of a file or directory that exists only in the overlay unchanged, because it contains no
// symbolic links.
func (o *overlay) CleanedAbs(name string) (filesys.ConfirmedDir, string, error) {
	if absolute, err := filepath.Abs(name); err == nil && !o.FileSystem.Exists(name) && o.holds(absolute) {
		return filesys.ConfirmedDir(absolute), "", nil
	}
	if _, ok := o.other(name); ok && !o.FileSystem.Exists(name) {
		absolute, err := filepath.Abs(name)
		dir := filepath.Dir(absolute)
		if linked, failure := filepath.EvalSymlinks(dir); failure == nil {
			dir = linked
		}
		return filesys.ConfirmedDir(dir), filepath.Base(absolute), err
	}
	return o.FileSystem.CleanedAbs(name)
}

// holds reports whether the overlay has a file in a directory or below it.
func (o *overlay) holds(dir string) bool {
	for name := range o.contents {
		if strings.HasPrefix(name, dir+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
