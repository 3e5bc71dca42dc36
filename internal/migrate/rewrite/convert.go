package rewrite

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// check type-checks the module with the new files in all configurations, and returns the packages or the first error.
//
// It adds converters to values that have a type of one API where the type of the other API is required, in all packages
// of the module. It does so in both directions, because rewritten packages and all other packages pass values to each
// other. Several passes may be necessary, because a converted value can change the type of a function's result.
func (w *rewriting) check(
	ctx context.Context, groups []Group,
) (all []*packages.Package, broken *packages.Error, err error) {
	var converters []Converter
	for _, group := range groups {
		converters = append(converters, group.Converters...)
	}
	const passes = 3
	for pass := range passes {
		all = nil
		changed := false
		for _, c := range w.configurations {
			loaded, err := w.load(ctx, c, w.Files)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, loaded...)
			broken := firstError(loaded)
			if broken == nil {
				continue
			}
			converted := false
			if pass < passes-1 {
				if converted, err = w.convertOnce(loaded, converters); err != nil {
					return nil, nil, err
				}
			}
			if !converted {
				return nil, broken, nil
			}
			changed = true
		}
		if !changed {
			break
		}
	}
	return all, nil, nil
}

// convertOnce adds converters at the positions of type errors. It reports whether it changed a file.
func (w *rewriting) convertOnce(loaded []*packages.Package, converters []Converter) (changed bool, err error) {
	files := map[string]*File{}
	for _, pkg := range loaded {
		for _, e := range pkg.TypeErrors {
			i := slices.IndexFunc(pkg.Syntax, func(f *ast.File) bool { return f.FileStart <= e.Pos && e.Pos < f.FileEnd })
			if i < 0 || len(pkg.Syntax[i].Imports) == 0 {
				continue
			}
			name := pkg.CompiledGoFiles[i]
			if !slices.Contains(pkg.GoFiles, name) || w.whyFixed(name, pkg.Syntax[i]) != "" {
				continue // cgo generated the file, or it is fixed
			}
			if files[name] == nil {
				f := &File{Name: name, Syntax: pkg.Syntax[i], Fset: pkg.Fset, Package: pkg.Types, Info: pkg.TypesInfo}
				if f.Source, err = w.current(name); err != nil {
					return false, err
				}
				files[name] = f
			} else if files[name].Syntax != pkg.Syntax[i] {
				continue // the same file, in the package of the tests
			}
			files[name].convert(e.Pos, converters)
		}
	}
	for name, f := range files {
		if len(f.edits) == 0 {
			continue
		}
		if w.Sources[name] == nil {
			w.Sources[name] = f.Source
		}
		if w.Files[name], err = f.result(); err != nil {
			return false, err
		}
		changed = true
	}
	return changed, nil
}

// current returns the text of a file with all edits so far.
func (r *Result) current(name string) ([]byte, error) {
	if text, ok := r.Files[name]; ok {
		return text, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, diagnostic.AtFile(name, "cannot read", err)
	}
	return text, nil
}

// convert wraps the outermost expression at a position for which a converter exists.
func (f *File) convert(at token.Pos, converters []Converter) {
	if f.isEdited(at) {
		return
	}
	done := false
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		if n == nil || done || at < n.Pos() || n.End() <= at {
			return false
		}
		expr, ok := n.(ast.Expr)
		if !ok || expr.Pos() != at {
			return true
		}
		named, ok := types.Unalias(f.Info.TypeOf(expr)).(*types.Named)
		if !ok || named.Obj().Pkg() == nil || !f.Info.Types[expr].IsValue() {
			return true
		}
		name := named.Obj().Pkg().Path() + "." + named.Obj().Name()
		i := slices.IndexFunc(converters, func(c Converter) bool { return c.From == name })
		if i < 0 {
			return true
		}
		f.Wrap(expr, f.Qualified(converters[i].Path, converters[i].Name)+"(", ")")
		done = true
		return false
	})
}

func (f *File) isEdited(at token.Pos) bool {
	return slices.ContainsFunc(f.edits, func(e edit) bool { return e.from == f.offset(at) })
}
