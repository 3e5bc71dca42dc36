//go:build linux || darwin

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/kctrl-dev/kctrl/internal/diagnostic"
)

// Environments are the environments of a user. Any number of processes may use them at the same time. A process that
// changes an environment holds the lock of that environment.
type Environments struct {
	// Notice receives additional information for the user. It may be nil.
	Notice func(what string)
	// Repaired is the field of the same name in [Options].
	Repaired func(report string)

	dir string
}

// OpenEnvironments returns the environments in the user's cache.
func OpenEnvironments() (*Environments, error) {
	dir, err := cacheDir("env")
	if err != nil {
		return nil, err
	}
	// Symbolic links are resolved, because processes are found by the path of their directory.
	dir, err = filepath.EvalSymlinks(dir)
	return &Environments{dir: dir}, err
}

func (es *Environments) notice(format string, args ...any) {
	if es.Notice != nil {
		es.Notice(fmt.Sprintf(format, args...))
	}
}

// DefaultName is the name of an environment if the user does not choose one.
const DefaultName = "default"

var environmentName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// ValidateName returns an error for an invalid name of an environment.
func ValidateName(name string) error {
	if environmentName.MatchString(name) {
		return nil
	}
	return diagnostic.Usage("invalid environment name "+diagnostic.Quote(name),
		"use at most 40 lower-case letters, digits and dashes")
}

// NameArgument returns the argument of a command that selects an environment. It is empty for the default one.
func NameArgument(name string) string {
	if name == DefaultName {
		return ""
	}
	return " --name " + name
}

// Outcome is the result of Up.
type Outcome int

const (
	// Running means that all parts were already running.
	Running Outcome = iota
	// Started means that a new environment was started.
	Started
	// Resumed means that a stopped part was restarted, with all objects.
	Resumed
)

// Up starts the environment name, or the parts of it that no longer run. A resumed environment keeps its objects, its
// address and its options. If Up must start a part, it calls build with these options for the assets.
func (es *Environments) Up(ctx context.Context, name string, build func(Options) (Assets, error),
	opts Options) (*Environment, Outcome, error) {
	unlock, err := es.lock(ctx, name)
	if err != nil {
		return nil, Running, err
	}
	defer unlock()
	old, err := es.load(name)
	switch {
	case err == nil && old.Ready:
		outcome, err := es.resume(ctx, old, build)
		return old, outcome, err
	case err == nil || errors.Is(err, fs.ErrNotExist):
		// An earlier start may have failed and kept its logs.
		if err := es.remove(ctx, name); err != nil {
			return nil, Running, err
		}
		env, err := es.start(ctx, name, build, opts)
		return env, Started, err
	}
	return nil, Running, err
}

// start starts an environment that does not exist.
func (es *Environments) start(ctx context.Context, name string, build func(Options) (Assets, error),
	opts Options) (*Environment, error) {
	assets, err := build(opts)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(es.path(name), 0o700); err != nil {
		return nil, unwritable(es.path(name), err)
	}
	env := &Environment{Name: name, Options: opts}
	if err := es.claim(ctx, env); err != nil {
		return nil, errors.Join(err, os.RemoveAll(es.path(name)))
	}
	if err := es.run(ctx, env, assets, nil); err != nil {
		err = errors.Join(err, es.keepLogs(ctx, env, err))
		return nil, err
	}
	return env, nil
}

// resume starts the stopped parts of an environment that was ready before.
func (es *Environments) resume(ctx context.Context, env *Environment,
	build func(Options) (Assets, error)) (Outcome, error) {
	ids, err := loadIdentities(es.path(env.Name), env.Kubeconfig, time.Now())
	crash := env.Crashed()
	if err == nil && crash == nil {
		return Running, nil
	}
	assets, buildErr := build(env.Options)
	if buildErr != nil {
		return Resumed, buildErr
	}
	for _, p := range env.Processes {
		if !p.alive() {
			es.notice("%s of environment %q has stopped; restarting it", p.Name, env.Name)
		}
	}
	if err != nil {
		es.notice("the certificates of environment %q were renewed: %v", env.Name, err)
		if _, err := stopProcesses(ctx, es.path(env.Name)); err != nil {
			return Resumed, err
		}
	}
	if err := es.claim(ctx, env); err != nil {
		return Resumed, err
	}
	before := env.Server
	if err := es.run(ctx, env, assets, ids); err != nil {
		if crash, ok := errors.AsType[*CrashError](err); ok && !hinted(err) {
			again := "kctrl env down --name " + env.Name + " and kctrl env up --name " + env.Name
			err = diagnostic.Because(crash, crash.Error(), "if its data is damaged, "+again+" start it without objects")
		}
		return Resumed, err
	}
	if before != env.Server {
		es.notice("another process uses the port of %s now; export KUBECONFIG again in shells that read it", before)
	}
	return Resumed, nil
}

// run starts the parts of env that do not run, with the given identities or new ones. It records each step.
func (es *Environments) run(ctx context.Context, env *Environment, assets Assets, ids *identities) error {
	opts := env.Options
	opts.Dir, opts.Repaired = es.path(env.Name), es.Repaired
	opts.ids, opts.previous, opts.ports = ids, slices.Clone(env.Processes), env.Ports
	opts.started = func(p Process) error {
		env.record(p)
		return es.save(env)
	}
	instance, err := Start(ctx, assets, opts)
	if err != nil {
		return err
	}
	env.Server, env.Kubeconfig, env.Ports, env.Ready, env.Failed = instance.Server, instance.Kubeconfig, instance.ports,
		true, ""
	return es.save(env)
}

// keepLogs keeps the logs of an environment that did not start. It removes the environment if it never started a part,
// or if the context has ended.
func (es *Environments) keepLogs(ctx context.Context, env *Environment, cause error) error {
	crash, crashed := errors.AsType[*CrashError](cause)
	if len(env.Processes) == 0 || ctx.Err() != nil || !crashed {
		return os.RemoveAll(es.path(env.Name))
	}
	env.Failed = crash.Component
	return es.save(env)
}

// claim records env with its data directory. It returns an error if another running environment uses the directory,
// because etcd would wait for the lock on it.
func (es *Environments) claim(ctx context.Context, env *Environment) error {
	// Names of environments have no dots, so no environment uses this lock.
	unlock, err := lockFile(ctx, filepath.Join(es.dir, ".data.lock"), func() {})
	if err != nil {
		return err
	}
	defer unlock()
	if env.DataDir == "" {
		return es.save(env)
	}
	if env.DataDir, err = dataDir(env.DataDir); err != nil {
		return err
	}
	if within(es.dir, env.DataDir) {
		return diagnostic.New(fmt.Sprintf("kctrl keeps its environments in %s", env.DataDir),
			"choose another --data-dir, which kctrl env down does not remove")
	}
	all, _ := es.List() // environments with an unreadable state are ignored; the lock of their etcd protects their data
	for _, other := range all {
		if other.Name != env.Name && sameDir(other.DataDir, env.DataDir) && other.Crashed() == nil {
			return diagnostic.New(
				fmt.Sprintf("%s is the data directory of environment %q, which is running", env.DataDir, other.Name),
				"choose another --data-dir, or run kctrl env down --name "+other.Name)
		}
	}
	return es.save(env)
}

func within(dir, path string) bool {
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

func sameDir(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// Get returns the environment name. The error for a missing environment has a hint.
func (es *Environments) Get(name string) (*Environment, error) {
	env, err := es.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, diagnostic.Because(err, fmt.Sprintf("environment %q does not exist", name),
			"kctrl env up"+NameArgument(name)+" starts it, kctrl env status lists all environments")
	}
	return env, err
}

// NameOf returns the name of the environment that has this path of a kubeconfig, running or not, or "".
func (es *Environments) NameOf(kubeconfig string) string {
	name := filepath.Base(filepath.Dir(kubeconfig))
	there, err := os.Stat(filepath.Dir(filepath.Dir(kubeconfig)))
	if err != nil || !filepath.IsAbs(kubeconfig) || ValidateName(name) != nil {
		return ""
	}
	if own, err := os.Stat(es.dir); err != nil || !os.SameFile(there, own) {
		return ""
	}
	return name
}

// List returns all environments whose state can be read, ordered by name, and an error for each environment whose state
// cannot be read.
func (es *Environments) List() ([]*Environment, error) {
	names, err := es.names()
	var all []*Environment
	errs := []error{err}
	for _, name := range names {
		env, err := es.load(name)
		if err == nil {
			all = append(all, env)
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

// names returns the names of the directories of environments, including those without a state.
func (es *Environments) names() ([]string, error) {
	entries, err := os.ReadDir(es.dir)
	if err != nil {
		return nil, &diagnostic.Error{Message: "list environments: " + err.Error(),
			Hint: "make " + es.dir + " readable, or set XDG_CACHE_HOME", Cause: err}
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && ValidateName(entry.Name()) == nil {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// Recover stops and removes environments whose start was interrupted, for example by a power failure. No process has
// the lock of such an environment, and it was never ready. Recover reports each one to Notice.
func (es *Environments) Recover(ctx context.Context) error {
	names, err := es.names()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if es.starting(name) {
			errs = append(errs, es.recover(ctx, name))
		}
	}
	return errors.Join(errs...)
}

// starting reports whether an environment has never been ready and has not failed, so its start is in progress or was
// interrupted.
func (es *Environments) starting(name string) bool {
	env, err := es.load(name)
	return errors.Is(err, fs.ErrNotExist) || err == nil && !env.Ready && env.Failed == ""
}

// forkGrace is how long a child of a killed command may hold the lock. The child inherits the lock from fork until
// exec, and before exec it cannot be identified.
const forkGrace = time.Second

func (es *Environments) recover(ctx context.Context, name string) error {
	lock := flock.New(es.lockPath(name))
	defer lock.Close()
	bounded, cancel := context.WithTimeout(ctx, forkGrace)
	defer cancel()
	switch _, err := lock.TryLockContext(bounded, 10*time.Millisecond); {
	case bounded.Err() != nil:
		return ctx.Err() // another process is starting it
	case err != nil:
		return unwritable(es.lockPath(name), err)
	}
	if !es.starting(name) {
		return nil // another process finished the start a moment ago
	}
	left, err := processesOf(es.path(name))
	if err != nil {
		return err
	}
	what := "none of its processes runs"
	if len(left) > 0 {
		what = "stopping " + describeProcesses(left)
	}
	es.notice("the start of environment %q was interrupted; %s; removing it", name, what)
	return es.remove(ctx, name)
}

func describeProcesses(list []Process) string {
	var names []string
	for _, p := range list {
		names = append(names, fmt.Sprintf("%s (pid %d)", p.Name, p.PID))
	}
	return strings.Join(names, ", ")
}

// Down stops the environment name and removes its files, except a data directory that the user chose. It works even if
// the state cannot be read.
func (es *Environments) Down(ctx context.Context, name string) error {
	if _, err := os.Stat(es.path(name)); errors.Is(err, fs.ErrNotExist) {
		_, err := es.Get(name)
		return err
	}
	unlock, err := es.lock(ctx, name)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := es.Get(name); err != nil && !errors.Is(err, errBroken) {
		return err
	}
	return es.remove(ctx, name)
}

// remove stops the processes of an environment and removes its directory.
func (es *Environments) remove(ctx context.Context, name string) error {
	if _, err := stopProcesses(ctx, es.path(name)); err != nil {
		return err
	}
	if err := os.RemoveAll(es.path(name)); err != nil {
		return unwritable(es.path(name), err)
	}
	return nil
}

// stopProcesses ends the processes of the instance in dir, in the reverse order of their start, and returns them. It
// lists the running processes instead of reading the state, which may be unreadable or outdated.
func stopProcesses(ctx context.Context, dir string) ([]Process, error) {
	running, err := processesOf(dir)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(running) {
		if err := stopProcess(ctx, p); err != nil {
			return nil, err
		}
	}
	return running, nil
}

func (es *Environments) path(name string) string { return filepath.Join(es.dir, name) }

func (es *Environments) lockPath(name string) string { return es.path(name) + ".lock" }

func (es *Environments) lock(ctx context.Context, name string) (func(), error) {
	return lockFile(ctx, es.lockPath(name), func() {
		es.notice("another kctrl is starting or stopping environment %q; waiting for it", name)
	})
}
