package compat

import (
	"context"
	"errors"
	"go/token"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// thorough loads as controller-gen does: path by path, with everything that is imported.
func (a *attempt) thorough(ctx context.Context) (*Result, error) {
	tags := a.options.BuildTags
	if tags == nil {
		tags = []string{DefaultBuildTags}
	}
	fset := token.NewFileSet()
	roots, err := loader.LoadRootsWithConfig(&packages.Config{
		Context:    ctx,
		Fset:       fset,
		Dir:        a.options.Dir,
		BuildFlags: []string{"-tags=" + strings.Join(tags, ",")},
	}, a.command.paths...)
	if err != nil {
		return nil, load.ListError(ctx, a.options.Dir, err)
	}
	for _, root := range roots {
		root.Fset = fset
	}
	// Generators would say what follows from packages that are broken or missing, at length.
	if err := load.Problems(a.options.Dir, roots); err != nil {
		return nil, err
	}
	var filters []loader.NodeFilter
	for _, g := range a.command.generators {
		if typed, ok := g.value.(genall.NeedsTypeChecking); ok {
			filters = append(filters, typed.CheckFilter())
		}
	}
	in := input{
		GenerationContext: genall.GenerationContext{
			Collector: &markers.Collector{Registry: a.registry},
			Roots:     roots,
			Checker:   &loader.TypeChecker{NodeFilters: filters},
		},
		marked:    roots,
		read:      regular.ReadFile,
		generated: load.Generated,
	}
	result, err := a.command.generate(a.options.Dir, in)
	if err := errors.Join(err, load.Problems(a.options.Dir, roots)); err != nil {
		return nil, err
	}
	return result, nil
}
