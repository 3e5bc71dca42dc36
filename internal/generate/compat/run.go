package compat

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/generator"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/generate/postprocess"
	"github.com/kctrl-dev/kctrl/internal/generate/verdict"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	ourmarkers "github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// DefaultBuildTag excludes generated code, so that old output does not affect new output.
const DefaultBuildTag = resolve.DefaultTag

// Options configure a run of a command.
type Options struct {
	// Dir is the base of relative paths. It is absolute.
	Dir string
	// BuildTags select the files of packages. Nil means DefaultBuildTag.
	BuildTags []string
	// AllowUnknown are prefixes of unknown markers to accept.
	AllowUnknown []string
	// Postprocess is the file that declares how to postprocess manifests. Empty means postprocess.DefaultFile if that
	// exists.
	Postprocess string
	// Cache stores results. The zero value stores nothing.
	Cache incremental.Store
	// Inputs receives the known inputs of the result, also if the run fails. It may be nil.
	Inputs func(source.Inputs)
}

// Run generates the files in memory. It fails only if controller-gen fails. Other problems with markers are warnings in
// the result. Errors are joined from *diagnostic.Error, with file names relative to the directory.
func (c *Command) Run(ctx context.Context, o Options) (*Result, error) {
	a := &attempt{command: c, options: o}
	patterns, err := c.patterns(o)
	if err != nil {
		return a.run(ctx, err, nil)
	}
	key, environment, keyed := c.key(ctx, o)
	if keyed {
		if entry, ok := o.Cache.Current(key, environment, nil); ok {
			o.reportInputs(entry.Inputs)
			result, err := restored(o.Dir, entry)
			return result, cmp.Or(ctx.Err(), err)
		}
	}
	a.environment = environment
	result, err := a.run(ctx, nil, patterns)
	if a.program == nil {
		return result, err
	}
	inputs, complete := a.program.Inputs()
	o.reportInputs(inputs)
	switch {
	case !keyed || !complete || ctx.Err() != nil:
	case err == nil && !a.wasThorough:
		o.keep(key, inputs, result.generated(), result.Warnings)
	case err != nil && a.expected && !errors.Is(err, diagnostic.ErrUsage):
		o.keep(key, inputs, []artifact.File{{Generator: failure}}, diagnostic.All(err))
	}
	return result, err
}

func (o Options) reportInputs(inputs source.Inputs) {
	if o.Inputs != nil {
		o.Inputs(inputs)
	}
}

// run generates with kctrl's loader if possible, and otherwise as controller-gen does.
func (a *attempt) run(ctx context.Context, reason error, patterns []string) (*Result, error) {
	var err error
	if a.registry, err = a.command.registry(); err != nil {
		return nil, err
	}
	var result *Result
	if reason == nil {
		result, reason = a.quick(ctx, patterns)
	}
	for _, err := range diagnostic.All(reason) {
		if errors.Is(err, regular.ErrNotRegular) {
			return nil, err // the go command would block on it
		}
	}
	if reason != nil {
		a.wasThorough = true
		if result, err = a.thorough(ctx); err != nil {
			err = explain(err, reason)
			known := diagnostic.All(reason)
			a.expected = !slices.ContainsFunc(diagnostic.All(err), func(err error) bool { return !slices.Contains(known, err) })
			return nil, err
		}
	}
	result.Warnings = a.warnings()
	return result, nil
}

// registry returns the markers of the generators that run. It ignores markers of other generators, whatever their
// arguments.
func (c *Command) registry() (*markers.Registry, error) {
	registry := &markers.Registry{}
	for _, g := range c.generators {
		if err := g.options.RegisterMarkers(registry); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

// attempt runs a command once, with one of the two loaders.
type attempt struct {
	command     *Command
	options     Options
	registry    *markers.Registry
	environment *resolve.Environment // nil if unknown
	program     *load.Program        // nil if the packages could not be read
	findings    []lint.Finding
	found       error // problems of the markers
	// generatorsWarn has the warnings of generators.
	generatorsWarn []error
	// wasThorough is set if the loader of controller-tools ran.
	wasThorough bool
	// expected is set if kctrl reported all errors of controller-tools.
	expected bool
}

// warnings returns the problems that do not prevent generation.
func (a *attempt) warnings() []error {
	all := slices.DeleteFunc(diagnostic.All(a.found), func(err error) bool {
		// An input that requires the go command is not a problem to report.
		_, unusual := errors.AsType[*resolve.UnusualError](err)
		return unusual || errors.Is(err, diagnostic.ErrUsage)
	})
	if a.program != nil {
		all = append(append(all, a.program.Unmatched()), errorsOf(a.findings)...)
	}
	return diagnostic.All(lint.Once(errors.Join(append(all, a.generatorsWarn...)...)))
}

// explain replaces errors of controller-tools' loader with kctrl's errors about the same lines. If kctrl reports an
// invalid command line, it reports nothing else.
func explain(err, known error) error {
	better := map[token.Position][]error{}
	var misused []error
	for _, e := range diagnostic.All(known) {
		if errors.Is(e, diagnostic.ErrUsage) {
			misused = append(misused, e)
		} else if at := diagnostic.LineOf(e); at.IsValid() {
			better[at] = append(better[at], e)
		}
	}
	if len(misused) > 0 {
		return errors.Join(misused...)
	}
	var errs []error
	reported := map[token.Position]bool{}
	for _, e := range diagnostic.All(err) {
		at := diagnostic.LineOf(e)
		switch {
		case !at.IsValid() && len(better) > 0 && isAftermath(e):
		case better[at] == nil:
			errs = append(errs, e)
		case !reported[at]:
			reported[at] = true
			errs = append(errs, better[at]...)
		}
	}
	return errors.Join(errs...)
}

// isAftermath reports whether an error follows from another one: the library has no types of a package with a marker
// that cannot be read.
func isAftermath(err error) bool {
	return strings.HasPrefix(err.Error(), "unknown type ") ||
		strings.HasPrefix(err.Error(), "unable to locate schema for type ")
}

// errThorough means that kctrl's loader cannot, or must not, replace controller-tools' loader.
var errThorough = errors.New("needs the loader of controller-tools")

// quick loads each module once, and type-checks only packages that can produce output. Its errors do not mean that
// controller-gen fails.
func (a *attempt) quick(ctx context.Context, patterns []string) (*Result, error) {
	program, broken := load.Load(ctx, load.Config{Dir: a.options.Dir, Patterns: patterns, BuildTags: a.options.BuildTags,
		Environment: a.environment, Lenient: true})
	a.found = broken
	if program != nil {
		var wrong error
		a.findings, wrong = lint.Check(program, lint.Config{AllowUnknown: a.options.AllowUnknown, Lenient: true})
		a.found = errors.Join(broken, wrong)
	}
	if broken != nil {
		return nil, errors.Join(errThorough, a.found)
	}
	a.program = program
	all := a.program.Packages()
	orderCounts := slices.ContainsFunc(a.command.generators, func(g chosen) bool {
		return g.OrderCounts != nil && g.OrderCounts(all, g.rule)
	})
	if orderCounts {
		var known bool
		if all, known = a.program.InOrder(); !known {
			return nil, errThorough
		}
	}
	var marked []*loader.Package
	for _, pkg := range all {
		if pkg.Unreadable(a.knows) {
			return nil, errors.Join(errThorough, a.found)
		}
		marked = append(marked, pkg.Package)
	}
	var emits []func(*load.Package) bool
	for _, g := range a.command.generators {
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
	if orderCounts {
		sortAs(types.Roots, all)
	}
	types.Collector = &markers.Collector{Registry: a.registry}
	result, err := a.generate(generator.Input{GenerationContext: types, Markers: program.Registry(),
		Generated: a.program.Generated}, marked, a.program.ReadFile)
	return result, errors.Join(err, a.program.Problems(types.Roots))
}

// sortAs sorts roots in the order of the packages.
func sortAs(roots []*loader.Package, packages []*load.Package) {
	place := map[string]int{}
	for i, pkg := range packages {
		place[pkg.PkgPath] = i
	}
	slices.SortStableFunc(roots, func(a, b *loader.Package) int {
		return cmp.Compare(place[a.PkgPath], place[b.PkgPath])
	})
}

// knows reports whether a generator that runs has a marker with a name.
func (a *attempt) knows(name string) bool {
	return slices.ContainsFunc(a.registry.AllDefinitions(), func(d *markers.Definition) bool { return d.Name == name })
}

// patterns converts the paths to patterns for load.Load.
func (c *Command) patterns(o Options) ([]string, error) {
	if slices.ContainsFunc(o.BuildTags, func(tag string) bool { return tag == "" || strings.ContainsAny(tag, " ,'\"") }) {
		return nil, errThorough // The go command splits or rejects them.
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
		rel, err := filepath.Rel(o.Dir, absolute(o.Dir, path))
		if err != nil || !filepath.IsLocal(rel) {
			return nil, errThorough
		}
		patterns = append(patterns, "./"+filepath.ToSlash(rel))
	}
	return patterns, nil
}

// thorough loads as controller-gen does: path by path, with all imported packages.
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
	// Without this check, generators report many errors that follow from broken or missing packages.
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
	result, err := a.generate(generator.Input{
		GenerationContext: genall.GenerationContext{
			Collector: &markers.Collector{Registry: a.registry},
			Roots:     roots,
			Checker:   &loader.TypeChecker{NodeFilters: filters},
		},
		Markers:   known,
		Generated: load.Generated,
	}, roots, regular.ReadFile)
	if err := errors.Join(err, load.Problems(a.options.Dir, roots)); err != nil {
		return nil, err
	}
	return result, nil
}

// absolute returns the path of a file whose name may be relative to dir.
func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// generate runs all generators, even after one has failed. Generators that read only markers get the packages in
// marked. read reads the files that options name.
func (a *attempt) generate(in generator.Input, marked []*loader.Package,
	read func(name string) ([]byte, error)) (*Result, error) {
	files := disk{a.options.Dir, read}
	result := newResult(files.dir)
	declaration, err := postprocess.Load(a.options.Postprocess, files.readFile)
	if err != nil {
		return nil, err
	}
	crds := verdict.Checker{Later: declaration != nil}
	in.Dir, in.InputRule, in.LeftOut, in.Check = files.dir, files, in.Generated, crds.Check
	in.Warn = func(warning *diagnostic.Error) { a.generatorsWarn = append(a.generatorsWarn, warning) }
	in.Defines = func(schema.GroupVersionKind) {}
	var errs []error
	for _, g := range a.command.generators {
		out := &artifact.Sink{Dir: files.dir, Rule: g.rule, Stdout: &result.stdout}
		own := in
		own.OutputRule, own.Write = out, out.Write
		if g.Emits == nil {
			own.Roots = marked
		}
		errs = append(errs, g.Generate(own, g.options))
		for _, f := range out.Files() {
			result.files[f.Path] = f.Content
		}
	}
	if err := errors.Join(errs...); err != nil {
		return result, err
	}
	if declaration != nil {
		if err := a.postprocess(declaration, files, result); err != nil {
			return result, err
		}
	}
	crds.CheckFiles(result.generated())
	a.generatorsWarn = append(a.generatorsWarn, diagnostic.All(crds.Err(nil))...)
	return result, nil
}

// postprocess applies the declaration of the project to the manifests.
func (a *attempt) postprocess(declaration *postprocess.Declaration, files disk, result *Result) error {
	var ran []string
	for _, g := range a.command.generators {
		ran = append(ran, g.Name)
	}
	changed, err := declaration.Apply(postprocess.Input{Files: result.generated(), Ran: ran, Read: files.readFile})
	if err == nil {
		result.replace(changed)
	}
	return err
}

// disk reads the header files and manifests that options name.
type disk struct {
	dir  string // base of relative names
	read func(name string) ([]byte, error)
}

func (d disk) readFile(name string) ([]byte, error) { return d.read(absolute(d.dir, name)) }

// OpenForRead opens a file. Errors contain the name that the user wrote. The null device is empty: Makefiles use it to
// generate without a header.
func (d disk) OpenForRead(name string) (io.ReadCloser, error) {
	if name == os.DevNull {
		return io.NopCloser(strings.NewReader("")), nil
	}
	content, err := d.readFile(name)
	if err != nil {
		return nil, artifact.ReadError(name, err)
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}
