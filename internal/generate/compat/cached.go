package compat

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/artifact"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	"github.com/kctrl-dev/kctrl/internal/lint"
	"github.com/kctrl-dev/kctrl/internal/source"
	"github.com/kctrl-dev/kctrl/internal/source/resolve"
)

// memo is the cache location for the result of one command in one directory.
type memo struct {
	store       incremental.Store
	key         incremental.Key
	environment *resolve.Environment
	dir         string
}

// memo returns the cache location for the result of a command. It returns false if the result cannot be cached.
func (c *Command) memo(ctx context.Context, o Options) (memo, bool) {
	if o.Cache.Dir == "" {
		return memo{}, false
	}
	environment, err := resolve.NewEnvironment(ctx, o.Dir)
	if err != nil {
		return memo{}, false
	}
	var more [][]string
	for _, g := range c.generators {
		if g.DependsOn != nil {
			names, err := g.DependsOn(o.Dir, g.options)
			if err != nil {
				return memo{}, false
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
	return memo{o.Cache, key, environment.WithTags(o.BuildTags), o.Dir}, ok
}

// restore returns the cached result or errors, if none of their inputs changed.
func (m memo) restore() (result *Result, known bool, failed error) {
	stamped, known := m.store.GetStamped(m.key)
	if known && len(stamped.Outputs) > 0 && m.store.Holds(m.key, stamped) {
		result = newResult(m.dir)
		for _, output := range stamped.Outputs {
			result.current = append(result.current, output.Name)
		}
		result.Warnings = errorsOf(stamped.Warnings)
		return result, true, nil
	}
	entry, ok := m.store.Get(m.key)
	if !ok {
		return nil, false, nil
	}
	inputs := source.Stamps{}
	if known = known && stamped.Entry == entry.Sum && stamped.Inputs.Hold(); known {
		inputs = stamped.Inputs
	} else {
		var unchanged bool
		if inputs, known, unchanged = entry.Inputs.Unchanged(m.environment, nil); !unchanged {
			return nil, false, nil
		}
	}
	result = newResult(m.dir)
	for _, file := range entry.Files {
		if file.Generator == failure {
			return nil, true, errors.Join(errorsOf(entry.Warnings)...)
		}
		if file.Generator == standardOutput {
			result.stdout.Write(file.Content)
			continue
		}
		result.files[absolute(m.dir, filepath.FromSlash(file.Path))] = file.Content
	}
	result.Warnings = errorsOf(entry.Warnings)
	if known {
		result.isWritten = func(outputs source.Stamps) { m.noteWritten(result, entry, inputs, outputs) }
	}
	return result, true, nil
}

func errorsOf(findings []lint.Finding) []error {
	var errs []error
	for _, finding := range findings {
		errs = append(errs, finding.Error)
	}
	return errs
}

// noteWritten records the state of the disk after all files of a result are written.
func (m memo) noteWritten(result *Result, entry *incremental.Entry, inputs, outputs source.Stamps) {
	if result.stdout.Len() > 0 {
		outputs = nil // Output to stdout is only in the entry, so read all files from it.
	}
	// Without stamps, the next run reads all inputs again.
	_ = m.store.PutStamped(m.key, &incremental.Stamped{Entry: entry.Sum, Inputs: inputs, Outputs: outputs,
		Warnings: entry.Warnings})
}

// The templates of cached files without a path.
const (
	standardOutput = "stdout"  // output to stdout
	failure        = "failure" // the run failed; the warnings of the entry are its errors
)

// keepFailure caches the errors of a run, because they follow from its inputs.
func (m memo) keepFailure(failed error, inputs source.Inputs) {
	entry := &incremental.Entry{Inputs: inputs, Files: []artifact.File{{Generator: failure}}}
	for _, err := range diagnostic.All(failed) {
		e, ok := errors.AsType[*diagnostic.Error](err)
		if !ok || e.Class != nil {
			return
		}
		entry.Warnings = append(entry.Warnings, lint.Finding{Error: e})
	}
	_ = m.store.Put(m.key, entry) // Without the entry, the next run finds the same errors.
}

// keep caches a result with all of its inputs. It ignores write errors of the cache.
func (m memo) keep(result *Result, inputs source.Inputs) {
	entry := &incremental.Entry{Inputs: inputs}
	for _, err := range result.Warnings {
		d, ok := errors.AsType[*diagnostic.Error](err)
		if !ok {
			return
		}
		entry.Warnings = append(entry.Warnings, lint.Finding{Error: d})
	}
	for _, f := range result.generated() {
		if f.Path == "" {
			f.Generator = standardOutput
		}
		entry.Files = append(entry.Files, f)
	}
	if m.store.Put(m.key, entry) != nil {
		return
	}
	// A written file may be an input of the next run, so check all inputs again after all files are written.
	result.isWritten = func(outputs source.Stamps) {
		if stamps, stamped, _ := entry.Inputs.Unchanged(m.environment, nil); stamped {
			m.noteWritten(result, entry, stamps, outputs)
		}
	}
}
