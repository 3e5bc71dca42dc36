//go:build linux || darwin

package controlplane

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// stateVersion is that of the states this kctrl writes. It reads them, and older ones.
const stateVersion = 1

// Environment is a control plane with a name, which goes on after the command that started it. It is what its state
// file says; the processes may have ended since.
type Environment struct {
	Version    int    `json:"version"`
	Name       string `json:"name"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// What it was started with, and is started with again when a part of it has died.
	InMemory          bool   `json:"inMemory,omitempty"`
	Kubernetes        string `json:"kubernetes,omitempty"`
	DataDir           string `json:"dataDir,omitempty"`
	Port              int    `json:"port,omitempty"`
	ControllerManager bool   `json:"controllerManager,omitempty"`
	Controllers       string `json:"controllers,omitempty"`
	GarbageCollector  bool   `json:"garbageCollector,omitempty"`
	FakeControllers   bool   `json:"fakeControllers,omitempty"`
	FeatureGates      string `json:"featureGates,omitempty"`

	Ready     bool      `json:"ready"` // it was once, so that there are objects to keep
	Ports     Ports     `json:"ports"`
	Processes []Process `json:"processes"` // in start order
	// Failed is the part that kept the others from starting, which then were stopped.
	Failed string `json:"failed,omitempty"`
}

// alive reports whether just this process runs: the same pid, start time, folder and part.
func (p Process) alive() bool {
	now, running := processOf(filepath.Dir(p.Log), p.PID)
	return running && now.Start == p.Start && now.Name == p.Name
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
		hint := ", " + again + " starts it again with its objects"
		if !e.Ready {
			hint = ", " + again + " tries again"
		}
		return &diagnostic.Error{
			Message: fmt.Sprintf("environment %q crashed: %s does not run any more", e.Name, crash.Component),
			Hint:    "kctrl env status shows the end of its log" + hint,
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

// options are those it was started with.
func (e *Environment) options() Options {
	return Options{
		InMemory: e.InMemory, Kubernetes: e.Kubernetes, DataDir: e.DataDir, Port: e.Port, ControllerManager: e.ControllerManager, Controllers: e.Controllers,
		GarbageCollector: e.GarbageCollector, FakeControllers: e.FakeControllers, FeatureGates: e.FeatureGates,
	}
}

// record keeps a process in the place of an older one of its part.
func (e *Environment) record(p Process) {
	i := slices.IndexFunc(e.Processes, func(old Process) bool { return old.Name == p.Name })
	if i < 0 {
		e.Processes = append(e.Processes, p)
		return
	}
	e.Processes[i] = p
}

// errBroken marks a state that cannot be read, of an environment whose processes can be found all the same.
var errBroken = errors.New("broken state")

func (es *Environments) statePath(name string) string {
	return filepath.Join(es.path(name), "state.json")
}

// load reads the state of an environment. The error is fs.ErrNotExist when there is none.
func (es *Environments) load(name string) (*Environment, error) {
	broken := func(cause error) error {
		return &diagnostic.Error{
			Message: fmt.Sprintf("the state of environment %q is broken: %v", name, cause),
			Hint:    "kctrl env down --name " + name + " stops what it runs and removes it",
			Class:   errBroken,
			Cause:   cause,
		}
	}
	info, err := os.Stat(es.statePath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, broken(err)
	}
	if !info.Mode().IsRegular() {
		return nil, broken(fmt.Errorf("%s is no file", es.statePath(name)))
	}
	content, err := os.ReadFile(es.statePath(name))
	if err != nil {
		return nil, broken(err)
	}
	env := &Environment{}
	if err := json.Unmarshal(content, env); err != nil {
		return nil, broken(err)
	}
	if env.Version > stateVersion {
		return nil, &diagnostic.Error{
			Message: fmt.Sprintf("environment %q was started by a newer kctrl", name),
			Hint:    "use that kctrl, or stop its processes and remove " + es.path(name),
		}
	}
	env.Name = name
	return env, nil
}

// save replaces the state in one step, so that a reader never sees half of it.
func (es *Environments) save(env *Environment) error {
	env.Version = stateVersion
	content, err := json.MarshalIndent(env, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(es.statePath(env.Name), content); err != nil {
		return unwritable(es.folder, err)
	}
	return nil
}
