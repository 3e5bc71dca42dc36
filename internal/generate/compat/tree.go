package compat

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/controller-tools/pkg/loader"
)

// nestedModules returns a pattern for each module below root, a folder relative to dir.
func nestedModules(dir, root string) ([]string, error) {
	start := filepath.Join(dir, filepath.FromSlash(root))
	var patterns []string
	err := filepath.WalkDir(start, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() != "go.mod" || filepath.Dir(name) == start {
			return err
		}
		rel, err := filepath.Rel(dir, filepath.Dir(name))
		patterns = append(patterns, "./"+filepath.ToSlash(rel)+"/...")
		return err
	})
	return patterns, err
}

// usesC reports whether beside the files of a package there is one that uses cgo, which was left out.
func usesC(packages []*loader.Package) bool {
	for _, pkg := range packages {
		if len(pkg.CompiledGoFiles) == 0 {
			continue
		}
		dir := filepath.Dir(pkg.CompiledGoFiles[0])
		entries, err := os.ReadDir(dir)
		if err != nil {
			return true
		}
		for _, entry := range entries {
			name := filepath.Join(dir, entry.Name())
			if filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || slices.Contains(pkg.CompiledGoFiles, name) {
				continue
			}
			if content, err := os.ReadFile(name); err != nil || bytes.Contains(content, []byte(`import "C"`)) {
				return true
			}
		}
	}
	return false
}
