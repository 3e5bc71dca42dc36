package registry

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/reconcile"

	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/log"
	"github.com/kctrl-dev/kctrl/runtime/manager"
)

const (
	// restartBase is the delay after a controller's first failure. Each further failure doubles it, up to restartMost.
	restartBase = time.Second
	restartMost = 5 * time.Minute
	// restartForget is the running time after which the failures of a controller are forgotten.
	restartForget = 10 * time.Minute
)

// State is a state in the lifecycle of a controller.
type State string

// States of a controller.
const (
	// Disabled means that --controllers or the feature gates do not enable the controller.
	Disabled State = "disabled"
	// Elsewhere means that another program runs the controller, according to --leader-migration-config.
	Elsewhere State = "elsewhere"
	// Skipped means that the constructor found nothing to do.
	Skipped State = "skipped"
	// Waiting means that the controller is built, and waits for leadership, for controllers with special handling, or for
	// its part of the start interval.
	Waiting State = "waiting"
	// Running means that Run is in progress.
	Running State = "running"
	// Restarting means that the controller has failed and will be built again.
	Restarting State = "restarting"
	// Failed means that the controller has failed and is not restarted.
	Failed State = "failed"
	// Ended means that the controller has returned, or was stopped.
	Ended State = "ended"
)

// Status is the status of a controller.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Reason is the reason why the controller is in State, or why it runs but is not ready.
	Reason   string `json:"reason,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
}

// runner is the manager's runnable for a controller. It starts the controller when it is its turn, and restarts it
// after failures.
type runner struct {
	launch     *launch
	descriptor Descriptor
	election   controller.Election
	begun      chan struct{} // closed when the controller is first started, or will never be
	once       sync.Once     // closes begun

	mu       sync.Mutex
	current  together // the current build, or the next one
	state    State
	err      error // of the last failure
	restarts int
	// beside is the first failure of a companion of the first build. It calls stop, which ends that build while it runs.
	beside error
	stop   context.CancelFunc // nil before the first build runs
}

// construct calls the constructor. Runnables that were added to the context are part of the controller, except those
// that run beside it, see besideIt. built is nil if the controller has nothing to do.
func (l *launch) construct(ctx context.Context, d Descriptor) (built, beside together, err error) {
	c, err := l.newContext(d.Name)
	if err != nil {
		return nil, nil, err
	}
	err = safely(func() error {
		main, err := d.New(log.IntoContext(ctx, c.logger), c)
		if main != nil {
			built = together{main}
		}
		return err
	})
	if err != nil {
		l.log("controller cannot be built", d.Name, err)
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := twice(c.added); err != nil {
		return nil, nil, err
	}
	for _, added := range c.added {
		switch {
		case slices.ContainsFunc(built, func(part Controller) bool { return same(part, added) }):
		case len(built) > 0 && electionOf(added).Off && !d.electionOf(built).Off:
			beside = append(beside, added)
		default:
			built = append(built, added)
		}
	}
	if err := l.claim(d.Name, built); err != nil {
		return nil, nil, err
	}
	return built, beside, nil
}

// claim reserves the names of a build in logs and metrics. Two controllers must not have the same name.
func (l *launch) claim(owner string, built together) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range built {
		part, isNamed := part.(named)
		if !isNamed {
			continue
		}
		name := part.Name()
		if other, taken := l.names[name]; taken && other != owner {
			return fmt.Errorf("it builds %q, and so does controller %s; give one of them another name, by Named", name, other)
		}
		l.names[name] = owner
	}
	return nil
}

// twice returns an error if two of the added runnables have the same name, because logs and metrics could not
// distinguish them.
func twice(added []manager.Runnable) error {
	first := map[string]manager.Runnable{} // by name
	for _, r := range added {
		part, isNamed := r.(named)
		if !isNamed {
			continue
		}
		if other, taken := first[part.Name()]; taken && !(reflect.TypeOf(r).Comparable() && r == other) {
			return fmt.Errorf("it builds two %q; give one of them another name, by Named", part.Name())
		}
		first[part.Name()] = r
	}
	return nil
}

func (d *Descriptor) electionOf(built together) controller.Election {
	if d.Election != (controller.Election{}) {
		return d.Election
	}
	return electionOf(built[0])
}

// same reports whether two controllers are identical. Their types need not be comparable.
func same(a, b Controller) bool {
	x, isNamed := a.(named)
	y, isToo := b.(named)
	return isNamed && isToo && x.Name() == y.Name()
}

func electionOf(r Controller) (e controller.Election) {
	if needs, ok := r.(interface{ NeedLeaderElection() bool }); ok {
		e.Off = !needs.NeedLeaderElection()
	}
	if grouped, ok := r.(interface{ LeaderElectionGroup() string }); ok {
		e.Group = grouped.LeaderElectionGroup()
	}
	if migrates, ok := r.(interface{ LeaderElectionMigratesFrom() string }); ok {
		e.MigratesFrom = migrates.LeaderElectionMigratesFrom()
	}
	if leased, ok := r.(interface{ LeaderElectionLease() string }); ok {
		e.Lease = leased.LeaderElectionLease()
	}
	return e
}

// safely converts a panic to an error.
func safely(run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &reconcile.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return run()
}

// log logs an outcome of a controller, with the stack of a panic.
func (l *launch) log(what, name string, err error, more ...any) {
	args := append([]any{"controller", name, "err", err}, more...)
	if panicked, ok := errors.AsType[*reconcile.PanicError](err); ok {
		args = append(args, "stack", string(panicked.Stack))
	}
	l.manager.Logger().Error(what, args...)
}

// together are the parts of a controller, which run as one. The first failure ends all of them.
type together []Controller

func (t together) run(ctx context.Context) error {
	if len(t) == 1 {
		return safely(func() error { return t[0].Run(ctx) })
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(t))
	var parts sync.WaitGroup
	for i, part := range t {
		parts.Go(func() {
			if errs[i] = safely(func() error { return part.Run(ctx) }); errs[i] != nil {
				cancel()
			}
		})
	}
	parts.Wait()
	return errors.Join(errs...)
}

// joinErrors returns the errors of the parts that implement P.
func joinErrors[P any](t together, ask func(P) error) error {
	var errs []error
	for _, part := range t {
		if part, ok := part.(P); ok {
			errs = append(errs, ask(part))
		}
	}
	return errors.Join(errs...)
}

// besideIt returns the n-th companion of the controller: a runnable of the manager that runs beside the controller. Its
// failure is treated as a failure of the controller.
func (r *runner) besideIt(n int, part Controller) manager.Runnable {
	name := fmt.Sprintf("part %d beside %s", n+1, r.Name())
	if part, isNamed := part.(named); isNamed {
		name = part.Name()
	}
	companion := replicated{name, func(ctx context.Context) error { return r.runBeside(ctx, name, part) }}
	if part, ok := part.(readier); ok {
		return struct {
			replicated
			readier
		}{companion, part}
	}
	return companion
}

// runBeside runs a companion until ctx ends. It returns an error only if the controller's failures end the manager.
func (r *runner) runBeside(ctx context.Context, name string, part Controller) error {
	err := safely(func() error { return part.Run(ctx) })
	if err == nil || ctx.Err() != nil || r.descriptor.Restart == Fatal {
		return err
	}
	// Log the failure now, because the controller may be waiting for leadership, and reports the failure only after that.
	r.launch.log("what runs beside a controller has failed", r.Name(), err, "runnable", name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beside == nil {
		r.beside = fmt.Errorf("%s: %w", name, err)
		if r.stop != nil {
			r.stop()
		}
	}
	return nil
}

// debugHandler returns the handler of the first part that has one, or nil.
func (t together) debugHandler() http.Handler {
	for _, part := range t {
		if part, ok := part.(debugged); ok {
			if h := part.DebugHandler(); h != nil {
				return h
			}
		}
	}
	return nil
}

// The manager calls Name and the following methods.
func (r *runner) Name() string                       { return r.descriptor.Name }
func (r *runner) NeedLeaderElection() bool           { return !r.election.Off }
func (r *runner) LeaderElectionGroup() string        { return r.election.Group }
func (r *runner) LeaderElectionMigratesFrom() string { return r.election.MigratesFrom }
func (r *runner) LeaderElectionLease() string        { return r.election.Lease }

// Run starts the controller when it is its turn, and runs it until ctx ends. It restarts the controller according to
// its policy. It returns an error only to end the manager.
func (r *runner) Run(ctx context.Context) error {
	defer r.once.Do(func() { close(r.begun) })
	if !r.wait(ctx) {
		r.note(Ended, nil)
		return nil
	}
	pause := restartBase
	for {
		started := time.Now()
		err := r.runOnce(ctx)
		if err == nil || ctx.Err() != nil {
			r.note(Ended, err)
			if ctx.Err() == nil {
				r.launch.manager.Logger().Info("controller has ended by itself", "controller", r.Name())
			}
			return err
		}
		r.launch.log("controller has failed", r.Name(), err, "restart", r.descriptor.Restart.String())
		switch r.descriptor.Restart {
		case Fatal:
			r.note(Failed, err)
			return err
		case Never:
			r.note(Failed, err)
			return nil
		}
		if time.Since(started) >= restartForget {
			pause = restartBase
		}
		r.note(Restarting, err)
		// Jitter spreads the restarts of controllers that failed for the same reason.
		if life.Sleep(ctx, pause/2+rand.N(pause/2+1)) != nil {
			r.note(Ended, nil)
			return nil
		}
		pause = min(2*pause, restartMost)
	}
}

// wait waits for the controller's turn. It reports false if ctx ends first.
func (r *runner) wait(ctx context.Context) bool {
	if r.descriptor.SpecialHandling {
		return true
	}
	for _, first := range r.launch.special {
		if !first.election.Off && (r.election.Off || groupName(first.election) != groupName(r.election)) {
			continue // the leader of that group starts it
		}
		select {
		case <-first.begun:
		case <-ctx.Done():
			return false
		}
	}
	if interval := r.launch.registry.opts.StartInterval; interval > 0 {
		return life.Sleep(ctx, interval+rand.N(interval)) == nil
	}
	return true
}

func groupName(e controller.Election) string { return cmp.Or(e.Group, controller.MainGroup) }

// runOnce builds the controller unless it is already built, and runs it.
func (r *runner) runOnce(ctx context.Context) error {
	current, first, err := r.next(ctx)
	if err != nil || current == nil {
		return err
	}
	started := r.launch.started
	started.Set(1, r.Name())
	defer started.Set(0, r.Name())
	r.once.Do(func() { close(r.begun) })
	if !first {
		return current.run(ctx)
	}
	return r.runFirst(ctx, current)
}

// runFirst runs the first build until it ends or a companion has failed.
func (r *runner) runFirst(ctx context.Context, current together) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	if r.stop = cancel; r.beside != nil {
		cancel()
	}
	r.mu.Unlock()
	err := current.run(running)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.beside != nil && ctx.Err() == nil {
		return r.beside
	}
	return err
}

// next returns the build to run, and whether it is the first build. The build is nil if the controller has nothing to
// do.
func (r *runner) next(ctx context.Context) (current together, first bool, err error) {
	r.mu.Lock()
	current, again := r.current, r.state == Restarting
	r.mu.Unlock()
	var beside together
	if again {
		if current, beside, err = r.launch.construct(ctx, r.descriptor); err != nil {
			return nil, false, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if again {
		r.restarts++
		// The companions of the first build continue to run. If one of them has failed, this build runs with its own
		// companions.
		if current != nil && r.beside != nil {
			current = append(current, beside...)
		}
	}
	r.current, r.state = current, Running
	return current, !again, nil
}

func (r *runner) note(state State, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	if err != nil {
		r.err = err
	}
}

// Ready returns nil, or the reason why the controller does not work: its last failure, or the error of its own Ready
// method while it runs. It returns nil for a controller that waits for its turn.
func (r *runner) Ready() error {
	r.mu.Lock()
	current, state, err := r.current, r.state, r.err
	r.mu.Unlock()
	switch state {
	case Failed:
		return fmt.Errorf("has failed: %w", err)
	case Restarting:
		return fmt.Errorf("has failed, and will be started again: %w", err)
	case Running:
		return joinErrors(current, readier.Ready)
	}
	return nil
}

// healthy returns the error of the controller's own Healthy method while it runs.
func (r *runner) healthy(req *http.Request) error {
	r.mu.Lock()
	current, state := r.current, r.state
	r.mu.Unlock()
	if state != Running {
		return nil
	}
	return joinErrors(current, func(part healthier) error { return part.Healthy(req) })
}

func (r *runner) status() Status {
	r.mu.Lock()
	s := Status{Name: r.Name(), State: r.state, Restarts: r.restarts}
	failed := r.err
	r.mu.Unlock()
	if err := r.Ready(); err != nil {
		s.Reason = err.Error()
	} else if failed != nil && s.State == Ended {
		s.Reason = failed.Error()
	}
	return s
}
