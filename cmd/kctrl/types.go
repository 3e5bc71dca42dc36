package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// typesOf returns a function that finds the Go files of a package that the project can import. It does not report
// errors, because the go command later reports missing packages with the reason.
func typesOf(ctx context.Context, dir string) scaffold.Types {
	return func(importPath string) ([]scaffold.TypesFile, bool) {
		environment, err := resolve.NewEnvironment(ctx, dir)
		if err != nil {
			return nil, false
		}
		resolver, err := resolve.New(disk{}, environment, dir)
		if err != nil {
			return nil, false
		}
		pkg, err := resolver.Find(importPath)
		if err != nil {
			return nil, false
		}
		names, err := pkg.Files()
		if err != nil {
			return nil, false
		}
		var files []scaffold.TypesFile
		for _, name := range names {
			source, err := os.ReadFile(name)
			if err != nil {
				return nil, false
			}
			files = append(files, scaffold.TypesFile{Path: name, Source: source})
		}
		return files, len(files) > 0
	}
}

// disk is the file system of a resolver.
type disk struct{}

func (disk) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

func (disk) Open(name string) (io.ReadCloser, error) { return os.Open(name) }

func (disk) Exists(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (disk) IsDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func (d disk) GoNames(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".go") && d.Exists(filepath.Join(dir, entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}
