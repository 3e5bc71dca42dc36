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

// stateVersion is the version of the state files that this kctrl writes. It reads state files up to this version.
const stateVersion = 1

// Environment is a named control plane that outlives the command that started it. It contains what its state file
// records, so its processes may have ended since.
type Environment struct {
	Version    int    `json:"version"`
	Name       string `json:"name"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// Options are the options of the first start, also used to restart a part that has died.
	Options

	Ready     bool      `json:"ready"` // the API server was ready once, so it may have objects to keep
	Ports     Ports     `json:"ports"`
	Processes []Process `json:"processes"` // in start order
	// Failed is the part whose failure stopped the start of the environment.
	Failed string `json:"failed,omitempty"`
}

// alive reports whether a process with the same pid, start time, directory and part runs.
func (p Process) alive() bool {
	now, running := processOf(filepath.Dir(p.Log), p.PID)
	return running && now.Start == p.Start && now.Name == p.Name
}

// Crashed returns the crash of the part that failed, or of the first part that no longer runs, or nil.
func (e *Environment) Crashed() *CrashError {
	var first *CrashError
	for _, p := range e.Processes {
		if p.alive() || first != nil && p.Name != e.Failed {
			continue
		}
		first = &CrashError{Component: p.Name, Reason: "it no longer runs", Log: p.Log, Tail: tail(p.Log)}
	}
	return first
}

// Usable returns an error for an environment that has crashed or is not ready.
func (e *Environment) Usable() error {
	again := "kctrl env up" + NameArgument(e.Name)
	if crash := e.Crashed(); crash != nil {
		hint := ", " + again + " starts it again with its objects"
		if !e.Ready {
			hint = ", " + again + " tries again"
		}
		return diagnostic.Because(crash,
			fmt.Sprintf("environment %q crashed: %s no longer runs", e.Name, crash.Component),
			"kctrl env status shows the end of its log"+hint)
	}
	if !e.Ready {
		return diagnostic.New(fmt.Sprintf("environment %q is not ready yet", e.Name), again+" returns when it is")
	}
	return nil
}

// record adds a process, or replaces the older process of its part.
func (e *Environment) record(p Process) {
	i := slices.IndexFunc(e.Processes, func(old Process) bool { return old.Name == p.Name })
	if i < 0 {
		e.Processes = append(e.Processes, p)
		return
	}
	e.Processes[i] = p
}

// errBroken marks the error for an environment whose state cannot be read, although its processes can be found.
var errBroken = errors.New("broken state")

func (es *Environments) statePath(name string) string {
	return filepath.Join(es.path(name), "state.json")
}

// load reads the state of an environment. The error is fs.ErrNotExist if it does not exist.
func (es *Environments) load(name string) (*Environment, error) {
	broken := func(cause error) error {
		return &diagnostic.Error{
			Message: fmt.Sprintf("the state of environment %q is broken: %v", name, cause),
			Hint:    "kctrl env down --name " + name + " stops its processes and removes it",
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
		return nil, broken(fmt.Errorf("%s is not a file", es.statePath(name)))
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
		return nil, diagnostic.New(fmt.Sprintf("environment %q was started by a newer kctrl", name),
			"use that kctrl, or stop its processes and remove "+es.path(name))
	}
	env.Name = name
	return env, nil
}

// save replaces the state atomically.
func (es *Environments) save(env *Environment) error {
	env.Version = stateVersion
	content, err := json.MarshalIndent(env, "", "  ")
	if err != nil {
		return err
	}
	if err := replaceFile(es.statePath(env.Name), content); err != nil {
		return unwritable(es.dir, err)
	}
	return nil
}
