package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// support lists directories of the original, other than testdata, that its tests import or read.
var support = []string{
	"examples/crd/pkg", "pkg/internal/testing/addr", "pkg/internal/flock", "pkg/manager/internal/integration",
}

// skipped lists packages whose tests use internal packages.
var skipped = []string{"pkg/internal/", "pkg/cache/internal/", "pkg/client/internal/"}

// overlay writes the drop-in module with the selected tests of the original to a directory. It returns the number of
// skipped specs by package.
func overlay(ctx context.Context, original, module, to string, selects func(dir string) bool) (map[string]int, error) {
	if err := copyFiles(module, to, func(name string) bool {
		return !strings.HasPrefix(name, "apitest") && !strings.HasSuffix(name, "_test.go")
	}); err != nil {
		return nil, err
	}
	excluded := map[string]int{}
	if err := copyFiles(original, to, func(name string) bool {
		dir := filepath.Dir(name)
		if strings.HasSuffix(name, "_test.go") && !selects(filepath.ToSlash(dir)) {
			return false
		}
		if strings.HasPrefix(name, "pkg/manager/internal/integration/") && strings.HasSuffix(name, "_test.go") {
			excluded[dir] = 0
		}
		for _, helper := range support {
			if dir == helper || strings.HasPrefix(dir, helper+"/") {
				return true
			}
		}
		if strings.HasPrefix(name, "pkg/") && strings.Contains(name, "/testdata/") {
			return true
		}
		if !strings.HasPrefix(name, "pkg/") || !strings.HasSuffix(name, "_test.go") || below(skipped, name) {
			return false
		}
		excluded[dir] = 0
		return true
	}); err != nil {
		return nil, err
	}
	if err := requirements(original, module, to); err != nil {
		return nil, err
	}
	for pkg, text := range shims {
		if !selects(pkg) {
			continue
		}
		if err := os.WriteFile(filepath.Join(to, pkg, "shims_test.go"), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return excluded, cut(ctx, to, excluded)
}

func below(dirs []string, name string) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(name, dir) {
			return true
		}
	}
	return false
}

// copyFiles copies the files of a directory whose names match.
func copyFiles(from, to string, want func(name string) bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil || !want(filepath.ToSlash(name)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
}

// requirements adds the requirements of the original to the go.mod in directory to, because its tests need them.
func requirements(original, module, to string) error {
	kctrl, err := filepath.Abs(filepath.Join(module, "../.."))
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(original, "go.mod"))
	if err != nil {
		return err
	}
	text = fmt.Appendf(text, "\nrequire github.com/kctrl-dev/kctrl v0.0.0\nreplace github.com/kctrl-dev/kctrl => %s\n",
		kctrl)
	err = os.WriteFile(filepath.Join(to, "go.mod"), text, 0o644)
	var sums []byte
	for _, dir := range []string{original, module, kctrl} {
		sum, readErr := os.ReadFile(filepath.Join(dir, "go.sum"))
		sums, err = append(sums, sum...), errors.Join(err, readErr)
	}
	if err = errors.Join(err, os.WriteFile(filepath.Join(to, "go.sum"), sums, 0o644)); err != nil {
		return err
	}
	return nil
}
