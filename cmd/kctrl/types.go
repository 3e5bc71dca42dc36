package main

import (
	"context"

	"github.com/kctrl-dev/kctrl/internal/scaffold"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// typesOf returns a function that finds the Go files of a package that the project can import. It does not report
// errors, because the go command later reports missing packages with the reason.
func typesOf(ctx context.Context, dir string) scaffold.Types {
	return func(importPath string) ([]scaffold.TypesFile, bool) {
		environment, unusual := resolve.NewEnvironment(ctx, dir)
		tree := source.Open(environment, unusual, nil, nil)
		resolver, err := tree.Resolver(dir)
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
			content, err := tree.ReadFile(name)
			if err != nil {
				return nil, false
			}
			files = append(files, scaffold.TypesFile{Path: name, Source: content})
		}
		return files, len(files) > 0
	}
}
