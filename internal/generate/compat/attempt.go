package compat

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/postprocess"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	ourmarkers "github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/regular"
)

// errThorough says that the loader of kctrl cannot, or must not, answer for the one of controller-tools.
var errThorough = errors.New("needs the loader of controller-tools")

// quick loads each module once, and of it only what can produce output. An error does not mean that controller-gen fails
// too.
func (a *attempt) quick(ctx context.Context, patterns []string) (*Result, error) {
	program, broken := load.Load(ctx, load.Config{Dir: a.options.Dir, Patterns: patterns, BuildTags: a.options.BuildTags, Lenient: true})
	if program == nil {
		a.found = broken
		return nil, errors.Join(errThorough, a.found)
	}
	var wrong error
	a.findings, wrong = lint.Check(program, lint.Config{AllowUnknown: a.options.AllowUnknown, Lenient: true})
	a.found = errors.Join(broken, wrong)
	if broken != nil {
		return nil, errors.Join(errThorough, a.found)
	}
	a.program = program
	all := a.program.Packages()
	var marked []*loader.Package
	for _, pkg := range all {
		if pkg.Unreadable(a.knows) {
			return nil, errors.Join(errThorough, a.found)
		}
		marked = append(marked, pkg.Package)
	}
	var emits []func(*load.Package) bool
	for _, g := range a.command.generators {
		if g.OrderCounts != nil && g.OrderCounts(all, g.rule) {
			return nil, errThorough
		}
		if g.Emits != nil {
			emits = append(emits, g.Emits(all))
		}
	}
	types, err := a.program.Types(ctx, func(pkg *load.Package) bool {
		return slices.ContainsFunc(emits, func(emits func(*load.Package) bool) bool { return emits(pkg) })
	})
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(types.Roots, a.program.UsesC) {
		return nil, errThorough
	}
	types.Collector = &markers.Collector{Registry: a.registry}
	result, err := a.generate(input{types, marked, program.Registry(), a.program.ReadFile, a.program.Generated})
	return result, errors.Join(err, a.program.Problems(types.Roots))
}

// knows reports whether generators that run have a marker of a name.
func (a *attempt) knows(name string) bool {
	return slices.ContainsFunc(a.registry.AllDefinitions(), func(d *markers.Definition) bool { return d.Name == name })
}

// patterns returns the paths as load.Load takes them.
func (c *Command) patterns(o Options) ([]string, error) {
	if slices.ContainsFunc(o.BuildTags, func(tag string) bool { return tag == "" || strings.ContainsAny(tag, " ,'\"") }) {
		return nil, errThorough // The go command splits them, or refuses them.
	}
	if len(c.paths) == 0 {
		return []string{"."}, nil
	}
	var patterns []string
	for _, path := range c.paths {
		if !strings.HasPrefix(path, ".") && !filepath.IsAbs(path) {
			patterns = append(patterns, path)
			continue
		}
		absolute := path
		if !filepath.IsAbs(path) {
			absolute = filepath.Join(o.Dir, path)
		}
		rel, err := filepath.Rel(o.Dir, absolute)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, errThorough
		}
		patterns = append(patterns, "./"+filepath.ToSlash(rel))
	}
	return patterns, nil
}

// thorough loads as controller-gen does: path by path, with everything that is imported.
func (a *attempt) thorough(ctx context.Context) (*Result, error) {
	tags := a.options.BuildTags
	if tags == nil {
		tags = []string{DefaultBuildTag}
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
		if typed, ok := g.options.(genall.NeedsTypeChecking); ok {
			filters = append(filters, typed.CheckFilter())
		}
	}
	known, err := ourmarkers.NewRegistry()
	if err != nil {
		return nil, err
	}
	in := input{
		GenerationContext: genall.GenerationContext{
			Collector: &markers.Collector{Registry: a.registry},
			Roots:     roots,
			Checker:   &loader.TypeChecker{NodeFilters: filters},
		},
		marked:    roots,
		markers:   known,
		read:      regular.ReadFile,
		generated: load.Generated,
	}
	result, err := a.generate(in)
	if err := errors.Join(err, load.Problems(a.options.Dir, roots)); err != nil {
		return nil, err
	}
	return result, nil
}

// input is what generators look at.
type input struct {
	genall.GenerationContext
	// marked are the packages for generators that need no types.
	marked []*loader.Package
	// markers are all that are known.
	markers *ourmarkers.Registry
	// read reads the files that options name.
	read func(name string) ([]byte, error)
	// generated are the files that build tags leave out.
	generated func(*loader.Package) []*ast.File
}

// generate runs all generators, also after one has failed.
func (a *attempt) generate(in input) (*Result, error) {
	dir := a.options.Dir
	result := newResult(dir)
	var errs []error
	for _, g := range a.command.generators {
		out := memory{dir: dir, rule: g.rule, generator: g.Name, result: result}
		ctx := in.GenerationContext
		ctx.InputRule, ctx.OutputRule = disk{dir, in.read}, out
		if g.Emits == nil {
			ctx.Roots = in.marked
		}
		errs = append(errs, g.Generate(generator.Input{
			GenerationContext: ctx,
			Dir:               dir,
			Markers:           in.markers,
			Generated:         in.generated,
			Defines:           func(schema.GroupVersionKind) {},
			Write:             out.write,
		}, g.options))
	}
	if err := errors.Join(errs...); err != nil {
		return result, err
	}
	return result, a.postprocess(in, result)
}

// postprocess makes of the manifests what the project declares.
func (a *attempt) postprocess(in input, result *Result) error {
	read := func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(a.options.Dir, name)
		}
		return in.read(name)
	}
	declaration, err := postprocess.Load(a.options.Postprocess, read)
	if declaration == nil {
		return err
	}
	var ran []string
	for _, g := range a.command.generators {
		ran = append(ran, g.Name)
	}
	files, err := declaration.Apply(postprocess.Input{Files: result.generated(), Ran: ran, Read: read})
	if err == nil {
		result.replace(files)
	}
	return err
}

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
		return nil, artifact.ReadError(name, err)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}
