package compat

import (
	"context"
	"errors"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// key returns the cache key of a command, and the settings of the go command if they are known. It returns false if the
// result cannot be cached.
func (c *Command) key(ctx context.Context, o Options) (incremental.Key, *resolve.Environment, bool) {
	environment, err := resolve.NewEnvironment(ctx, o.Dir)
	if err != nil {
		return incremental.Key{}, nil, false
	}
	environment = environment.WithTags(o.BuildTags)
	var more [][]string
	for _, g := range c.generators {
		if g.DependsOn != nil {
			names, err := g.DependsOn(o.Dir, g.options)
			if err != nil {
				return incremental.Key{}, environment, false
			}
			more = append(more, names)
		}
	}
	options := struct {
		Args, AllowUnknown, BuildTags []string
		Postprocess                   string
		More                          [][]string
	}{c.args, o.AllowUnknown, o.BuildTags, o.Postprocess, more}
	key, ok := incremental.NewKey(environment, o.Dir, options)
	return key, environment, ok
}

// failure is the generator of the only file in the entry of a failed run. The warnings of the entry are its errors.
const failure = "failure"

// restored returns the result in a cache entry.
func restored(dir string, entry *incremental.Entry) (*Result, error) {
	if len(entry.Files) == 1 && entry.Files[0].Generator == failure {
		return nil, errors.Join(errorsOf(entry.Warnings)...)
	}
	result := newResult(dir)
	result.replace(entry.Files)
	result.Warnings = errorsOf(entry.Warnings)
	return result, nil
}

func errorsOf(findings []lint.Finding) []error {
	var errs []error
	for _, finding := range findings {
		errs = append(errs, finding.Error)
	}
	return errs
}

// keep caches files, or the errors of a failed run, which follow from its inputs. It ignores write errors of the cache.
func (o Options) keep(key incremental.Key, inputs source.Inputs, files []artifact.File, warnings []error) {
	entry := &incremental.Entry{Inputs: inputs, Files: files}
	for _, err := range warnings {
		d, ok := errors.AsType[*diagnostic.Error](err)
		if !ok {
			return
		}
		entry.Warnings = append(entry.Warnings, lint.Finding{Error: d})
	}
	_ = o.Cache.Put(key, entry)
}
