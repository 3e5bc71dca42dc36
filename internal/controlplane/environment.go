package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Process is a part of an environment. A pid alone may be somebody else's by now, so its start time is kept too.
type Process struct {
	Name  string `json:"name"`
	PID   int    `json:"pid"`
	Start string `json:"start"`
	Log   string `json:"log"`
}

func (p Process) alive() bool {
	start, running := startTime(p.PID)
	return running && start == p.Start
}

// Environment is a control plane with a name, which goes on after the command that started it.
type Environment struct {
	Name       string    `json:"name"`
	Server     string    `json:"server"`
	Kubeconfig string    `json:"kubeconfig"`
	DataDir    string    `json:"dataDir,omitempty"`
	Ready      bool      `json:"ready"` // it was once
	Processes  []Process `json:"processes"`
	// Failed is the part that kept the others from starting, which then were stopped.
	Failed string `json:"failed,omitempty"`
}

// Crashed returns the crash of the part that failed, or else of the first that does not run any more, or nil.
func (e *Environment) Crashed() *CrashError {
	var first *CrashError
	for _, p := range e.Processes {
		if p.alive() || first != nil && p.Name != e.Failed {
			continue
		}
		first = &CrashError{Component: p.Name, Reason: "it does not run any more", Log: p.Log, Tail: tail(p.Log)}
	}
	return first
}

// Usable fails for an environment that cannot be talked to: one that crashed, or that does not run yet.
func (e *Environment) Usable() error {
	again := "kctrl env up"
	if e.Name != DefaultName {
		again += " --name " + e.Name
	}
	if crash := e.Crashed(); crash != nil {
		return &diagnostic.Error{
			Message: fmt.Sprintf("environment %q crashed: %s does not run any more", e.Name, crash.Component),
			Hint:    "kctrl env status shows the end of its log, " + again + " starts it anew",
			Cause:   crash,
		}
	}
	if !e.Ready {
		return &diagnostic.Error{
			Message: fmt.Sprintf("environment %q is not ready yet", e.Name),
			Hint:    again + " returns when it is",
		}
	}
	return nil
}

// Environments are the environments of a user.
type Environments struct{ folder string }

// OpenEnvironments returns the environments in the user's cache.
func OpenEnvironments() (*Environments, error) {
	folder, err := cacheFolder("env")
	return &Environments{folder: folder}, err
}

var environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// ValidateName fails for a name that no environment can have.
func ValidateName(name string) error {
	if environmentName.MatchString(name) {
		return nil
	}
	return &diagnostic.Error{
		Message: fmt.Sprintf("invalid environment name %q", name),
		Hint:    "use at most 40 lower-case letters, digits and dashes",
		Class:   diagnostic.ErrUsage,
	}
}

// Up starts the environment name, unless it runs, and reports whether it did. What is left of a crashed one is
// removed first.
func (es *Environments) Up(ctx context.Context, name string, assets Assets, opts Options) (env *Environment, started bool, err error) {
	unlock, err := es.lock(ctx, name)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if old, err := es.load(name); err == nil {
		if old.Ready && old.Crashed() == nil {
			return old, false, nil
		}
		if err := es.remove(ctx, old); err != nil {
			return nil, false, err
		}
	}
	if err := es.checkData(name, opts.DataDir); err != nil {
		return nil, false, err
	}
	opts.Folder = es.path(name)
	if err := os.MkdirAll(opts.Folder, 0o700); err != nil {
		return nil, false, unwritable(opts.Folder, err)
	}
	env = &Environment{Name: name, DataDir: opts.DataDir}
	opts.started = func(p Process) error {
		env.Processes = slices.DeleteFunc(env.Processes, func(old Process) bool { return old.Name == p.Name })
		env.Processes = append(env.Processes, p)
		return es.save(env)
	}
	instance, err := Start(ctx, assets, opts)
	if err != nil {
		return nil, false, errors.Join(err, es.keepLogs(ctx, env, err))
	}
	env.Server, env.Kubeconfig, env.Ready = instance.Server, instance.Kubeconfig, true
	return env, true, es.save(env)
}

// keepLogs leaves of an environment that did not start what tells why. There is nothing to tell when no part was
// started, or when the user gave up.
func (es *Environments) keepLogs(ctx context.Context, env *Environment, cause error) error {
	if len(env.Processes) == 0 || ctx.Err() != nil {
		return os.RemoveAll(es.path(env.Name))
	}
	if crash, ok := errors.AsType[*CrashError](cause); ok {
		env.Failed = crash.Component
		return es.save(env)
	}
	return nil
}

// checkData refuses the data folder of another environment that runs: etcd would wait for it.
func (es *Environments) checkData(name, folder string) error {
	all, err := es.List()
	if err != nil || folder == "" {
		return err
	}
	for _, other := range all {
		if other.Name != name && other.DataDir == folder && other.Crashed() == nil {
			return &diagnostic.Error{
				Message: fmt.Sprintf("%s is the data folder of environment %q, which runs", folder, other.Name),
				Hint:    "choose another --data-dir, or run kctrl env down --name " + other.Name,
			}
		}
	}
	return nil
}

// Get returns the environment name. The error has a hint when there is none.
func (es *Environments) Get(name string) (*Environment, error) {
	env, err := es.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("there is no environment %q", name),
			Hint:    es.upHint(name),
			Cause:   err,
		}
	}
	return env, err
}

func (es *Environments) upHint(name string) string {
	hint := "kctrl env up"
	if name != DefaultName {
		hint += " --name " + name
	}
	return hint + " starts it, kctrl env status lists those there are"
}

// DefaultName is the name of the environment of those who name none.
const DefaultName = "default"

// List returns all environments, ordered by name.
func (es *Environments) List() ([]*Environment, error) {
	entries, err := os.ReadDir(es.folder)
	if err != nil {
		return nil, err
	}
	var all []*Environment
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		env, err := es.load(entry.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, env)
	}
	return all, nil
}

// Down stops the environment name and removes all but a data folder of the user's.
func (es *Environments) Down(ctx context.Context, name string) error {
	unlock, err := es.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	env, err := es.Get(name)
	if err != nil {
		return err
	}
	return es.remove(ctx, env)
}

// remove stops what still runs, last started first.
func (es *Environments) remove(ctx context.Context, env *Environment) error {
	for _, p := range slices.Backward(env.Processes) {
		if err := stopProcess(ctx, p); err != nil {
			return err
		}
	}
	return os.RemoveAll(es.path(env.Name))
}

func (es *Environments) path(name string) string { return filepath.Join(es.folder, name) }

func (es *Environments) statePath(name string) string {
	return filepath.Join(es.path(name), "state.json")
}

func (es *Environments) lock(ctx context.Context, name string) (func(), error) {
	return lockFile(ctx, es.path(name)+".lock", func() {})
}

func (es *Environments) load(name string) (*Environment, error) {
	content, err := os.ReadFile(es.statePath(name))
	if err != nil {
		return nil, err
	}
	env := &Environment{}
	if err := json.Unmarshal(content, env); err != nil {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("the state of environment %q is broken: %v", name, err),
			Hint:    "stop its processes and remove " + es.path(name),
			Cause:   err,
		}
	}
	return env, nil
}

// save replaces the state in one step, so that a reader never sees half of it.
func (es *Environments) save(env *Environment) error {
	content, err := json.MarshalIndent(env, "", "  ")
	if err != nil {
		return err
	}
	temporary := es.statePath(env.Name) + ".tmp"
	if err := os.WriteFile(temporary, content, 0o600); err != nil {
		return unwritable(es.folder, err)
	}
	return os.Rename(temporary, es.statePath(env.Name))
}
