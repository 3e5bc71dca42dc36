package compat

import (
	"bytes"
	"errors"
	"path/filepath"

	"sigs.k8s.io/controller-tools/pkg/schemapatcher"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
	"github.com/kctrl-dev/kctrl/internal/generate/incremental"
	ourmarkers "github.com/kctrl-dev/kctrl/internal/markers"
	"github.com/kctrl-dev/kctrl/internal/markers/resolve"
)

// memo is where the result of one command in one folder is kept.
type memo struct {
	store       incremental.Store
	key         incremental.Key
	environment *resolve.Environment
	dir         string
}

// memo returns the place for the result of a command. It reports false if there is none.
func (c *Command) memo(o Options) (memo, bool) {
	if o.Cache.Dir == "" {
		return memo{}, false
	}
	environment, err := resolve.NewEnvironment()
	if err != nil {
		return memo{}, false
	}
	var manifests []string
	for _, g := range c.generators {
		if patcher, ok := g.value.(schemapatcher.Generator); ok {
			if manifests, err = manifestNames(o.Dir, patcher); err != nil {
				return memo{}, false
			}
		}
	}
	options := struct{ Args, Manifests, AllowUnknown []string }{c.args, manifests, o.AllowUnknown}
	key, ok := incremental.NewKey(environment, o.Dir, options)
	return memo{o.Cache, key, environment, o.Dir}, ok
}

// restore returns the result that was kept, if nothing has changed that it was made from.
func (m memo) restore() (*Result, bool) {
	entry, ok := m.store.Get(m.key)
	if !ok || !entry.Inputs.Unchanged(m.environment, nil) {
		return nil, false
	}
	result := newResult(m.dir)
	for _, file := range entry.Files {
		if file.Template == standardOutput {
			result.stdout.Write(file.Content)
			continue
		}
		result.files[filepath.Join(m.dir, filepath.FromSlash(file.Path))] = bytes.NewBuffer(file.Content)
	}
	for _, warning := range entry.Warnings {
		result.Warnings = append(result.Warnings, warning.Error)
	}
	return result, true
}

// standardOutput is the template of the entry's file that stands for it.
const standardOutput = "stdout"

// keep keeps a result that was made from all of the inputs. Whoever has no place for a cache does without.
func (m memo) keep(result *Result, inputs ourmarkers.Inputs) {
	entry := &incremental.Entry{Inputs: inputs}
	for _, err := range result.Warnings {
		d, ok := errors.AsType[*diagnostic.Error](err)
		if !ok {
			return
		}
		entry.Warnings = append(entry.Warnings, ourmarkers.Finding{Error: d})
	}
	for _, file := range result.Files() {
		rel, err := filepath.Rel(m.dir, file.Path)
		if err != nil {
			return
		}
		entry.Files = append(entry.Files, incremental.File{Path: filepath.ToSlash(rel), Content: file.Content})
	}
	if stdout := result.Stdout(); len(stdout) > 0 {
		entry.Files = append(entry.Files, incremental.File{Template: standardOutput, Content: stdout})
	}
	_ = m.store.Put(m.key, entry)
}
