package generate

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/load"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// runCached does the work of load and run, or restores the result of the last run if none of its inputs changed. It
// caches only successful results.
func (g *generation) runCached(ctx context.Context) error {
	files := overlay(g.dir, g.plan)
	key, environment, keyed := g.key(ctx)
	keyed = keyed && g.options.Made == nil
	if keyed {
		if entry, ok := g.options.Cache.Current(key, environment, files); ok {
			g.restore(entry)
			g.reportInputs(entry.Inputs)
			return ctx.Err()
		}
	}
	entry := &incremental.Entry{}
	g.warn = func(finding lint.Finding) {
		entry.Warnings = append(entry.Warnings, finding)
		if g.options.Warn != nil {
			g.options.Warn(finding)
		}
	}
	err := g.load(ctx, environment, files)
	if g.program == nil {
		return err
	}
	// Report problems of types and of markers in the same run.
	err = lint.Join(g.program, err, g.run(ctx))
	inputs, complete := g.program.Inputs()
	g.reportInputs(inputs)
	if err == nil && complete && keyed {
		entry.Inputs = inputs
		g.save(key, entry)
	}
	return err
}

func (g *generation) reportInputs(inputs source.Inputs) {
	if g.options.Inputs != nil {
		g.options.Inputs(inputs)
	}
}

// load reads the packages of the project and checks their markers. Without a program, no generator can run.
func (g *generation) load(ctx context.Context, environment *resolve.Environment, files map[string][]byte) error {
	program, broken := load.Load(ctx, load.Config{Dir: g.dir, Overlay: files, Patterns: g.options.Paths,
		Environment: environment})
	if program == nil {
		return broken
	}
	_, err := lint.Check(program, lint.Config{AllowUnknown: g.options.AllowUnknown, Warn: g.warn})
	if broken != nil {
		// No generator can run, but report invalid markers in other files in the same run.
		return errors.Join(broken, err)
	}
	g.program = program
	return err
}

// key returns the cache key of this run. It returns false if the run cannot be cached.
func (g *generation) key(ctx context.Context) (incremental.Key, *resolve.Environment, bool) {
	environment, err := resolve.NewEnvironment(ctx, g.dir)
	if err != nil {
		return incremental.Key{}, nil, false
	}
	// The fields of this type hide the options that do not affect the output.
	options := struct {
		Options
		Warn, Cache, Inputs, Made *struct{}
	}{Options: g.options}
	names := []string{g.options.ManifestHeaderFile, g.options.HeaderFile}
	if g.options.HeaderFile == "" && slices.ContainsFunc(g.generators, func(of chosen) bool { return of.Code }) {
		names = append(names, DefaultHeaderFile)
	}
	var headers []string
	for _, name := range names {
		if name == "" {
			headers = append(headers, "no header")
			continue
		}
		text, err := g.plan.Read(name)
		switch {
		case err == nil:
			headers = append(headers, "file "+name, string(text))
		case errors.Is(err, fs.ErrNotExist):
			headers = append(headers, "missing "+name)
		default:
			return incremental.Key{}, nil, false
		}
	}
	key, ok := incremental.NewKey(environment, g.dir, options, headers...)
	return key, environment, ok
}

// restore restores the outputs of an earlier run and repeats its warnings.
func (g *generation) restore(entry *incremental.Entry) {
	g.outputs = entry.Files
	g.kinds = map[schema.GroupVersionKind]bool{}
	for _, kind := range entry.Kinds {
		g.kinds[kind] = true
	}
	for _, finding := range entry.Warnings {
		if g.options.Warn != nil {
			g.options.Warn(finding)
		}
	}
}

// save stores the outputs for the next run. It ignores write errors of the cache.
func (g *generation) save(key incremental.Key, entry *incremental.Entry) {
	entry.Files = g.outputs
	entry.Kinds = slices.SortedFunc(maps.Keys(g.kinds), func(a, b schema.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Kind, b.Kind))
	})
	_ = g.options.Cache.Put(key, entry)
}
