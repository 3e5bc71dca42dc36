package compat

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-tools/pkg/markers"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	ourmarkers "github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/regular"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// DefaultBuildTag leaves generated code out, so that old output has no say in new output.
const DefaultBuildTag = resolve.DefaultTag

// Options say where a command runs.
type Options struct {
	// Dir is what paths are relative to. It is absolute.
	Dir string
	// BuildTags choose the files of packages. Nil means DefaultBuildTag.
	BuildTags []string
	// AllowUnknown are prefixes of markers that may be unknown.
	AllowUnknown []string
	// Postprocess is the file that declares what becomes of manifests. Empty means postprocess.DefaultFile if there is one.
	Postprocess string
	// Cache keeps results. The zero value keeps nothing.
	Cache incremental.Store
	// Inputs is told what the result depends on, as far as that is known, whether there is one or not. Nil means nobody is.
	Inputs func(source.Inputs)
}

// Run generates in memory. It fails only where controller-gen does; what else is wrong with markers is in the warnings of
// the result. Errors are joined from *diagnostic.Error, with file names relative to the folder.
func (c *Command) Run(ctx context.Context, o Options) (*Result, error) {
	a := &attempt{command: c, options: o}
	patterns, err := c.patterns(o)
	if err != nil {
		return a.run(ctx, err, nil)
	}
	kept, cached := c.memo(o)
	if cached {
		if result, ok := kept.restore(); ok {
			o.tellInputs(kept)
			return result, ctx.Err()
		}
	}
	result, err := a.run(ctx, nil, patterns)
	if a.program == nil {
		return result, err
	}
	inputs, complete := a.program.Inputs()
	if o.Inputs != nil {
		o.Inputs(inputs)
	}
	if err == nil && cached && complete && !a.wasThorough {
		kept.keep(result, inputs)
	}
	return result, err
}

// tellInputs tells of those of a result that was kept.
func (o Options) tellInputs(kept memo) {
	if o.Inputs == nil {
		return
	}
	if entry, ok := kept.store.Get(kept.key); ok {
		o.Inputs(entry.Inputs)
	}
}

// run generates: quickly, unless there is a reason why not, or else as controller-gen does.
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
			return nil, err // the go command would wait for it for ever
		}
	}
	if reason != nil {
		a.wasThorough = true
		if result, err = a.thorough(ctx); err != nil {
			return nil, explain(err, reason)
		}
	}
	result.Warnings = a.warnings()
	return result, nil
}

// registry returns the markers of the generators that run. A marker of another generator means nothing, whatever its
// arguments.
func (c *Command) registry() (*markers.Registry, error) {
	registry := &markers.Registry{}
	for _, g := range c.generators {
		if err := g.options.RegisterMarkers(registry); err != nil {
			return nil, err
		}
	}
	return registry, ourmarkers.ShortenEnums(registry)
}

// attempt runs a command once, in one way or another.
type attempt struct {
	command  *Command
	options  Options
	registry *markers.Registry
	program  *load.Program // nil if the packages could not be read
	findings []lint.Finding
	found    error // what kctrl finds wrong with the markers
	// wasThorough is set if the loader of controller-tools had a say.
	wasThorough bool
}

// warnings returns what is wrong and yet keeps nobody from generating.
func (a *attempt) warnings() []error {
	seen := map[string]bool{}
	var all []error
	add := func(err error) {
		if !seen[err.Error()] {
			seen[err.Error()] = true
			all = append(all, err)
		}
	}
	for _, err := range diagnostic.All(a.found) {
		if !errors.Is(err, diagnostic.ErrUsage) {
			add(err)
		}
	}
	if a.program != nil {
		for _, err := range diagnostic.All(a.program.Unmatched()) {
			add(err)
		}
		for _, finding := range a.findings {
			add(finding.Error)
		}
	}
	return diagnostic.All(errors.Join(all...))
}

// explain replaces errors of the loader of controller-tools by those that kctrl has about the same lines. If kctrl knows
// that the command line is wrong, nothing else matters.
func explain(err, known error) error {
	better := map[line][]error{}
	var misused []error
	for _, e := range diagnostic.All(known) {
		if errors.Is(e, diagnostic.ErrUsage) {
			misused = append(misused, e)
		} else if at, ok := lineOf(e); ok {
			better[at] = append(better[at], e)
		}
	}
	if len(misused) > 0 {
		return errors.Join(misused...)
	}
	var errs []error
	told := map[line]bool{}
	for _, e := range diagnostic.All(err) {
		at, ok := lineOf(e)
		switch {
		case !ok || better[at] == nil:
			errs = append(errs, e)
		case !told[at]:
			told[at] = true
			errs = append(errs, better[at]...)
		}
	}
	return errors.Join(errs...)
}

// line is a place that errors are about.
type line struct {
	file string
	line int
}

func lineOf(err error) (line, bool) {
	d, ok := errors.AsType[*diagnostic.Error](err)
	if !ok || d.Pos.Line == 0 {
		return line{}, false
	}
	return line{d.Pos.Filename, d.Pos.Line}, true
}
