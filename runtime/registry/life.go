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
	// restartBase is how long a controller waits after its first failure; each further one doubles it up to restartMost.
	restartBase = time.Second
	restartMost = 5 * time.Minute
	// restartForget is how long a controller runs until its failures are forgotten.
	restartForget = 10 * time.Minute
)

// State is where a controller is in its life.
type State string

// The states.
const (
	// Disabled is not enabled by --controllers or by its feature gates.
	Disabled State = "disabled"
	// Elsewhere is run by another program, as --leader-migration-config says.
	Elsewhere State = "elsewhere"
	// Skipped has nothing to do, as its constructor says.
	Skipped State = "skipped"
	// Waiting is built, and waits for leadership, for those with special handling, or for its part of the start interval.
	Waiting State = "waiting"
	// Running runs.
	Running State = "running"
	// Restarting has failed, and will be built again.
	Restarting State = "restarting"
	// Failed has failed and is left alone.
	Failed State = "failed"
	// Ended has returned, or was stopped.
	Ended State = "ended"
)

// Status is what there is to say of a controller.
type Status struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	// Reason says why it is in that state, or why it is not ready though it runs.
	Reason   string `json:"reason,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
}

// runner is a controller as a runnable of the manager: it starts it in its turn, and again when it fails.
type runner struct {
	launch     *launch
	descriptor Descriptor
	election   controller.Election
	begun      chan struct{} // closed when the controller was started first, or will not be
	once       sync.Once     // closes begun
	besides    firstError    // of what runs beside the first that was built

	mu       sync.Mutex
	current  Controller // what runs, or runs next
	state    State
	err      error // of the last failure
	restarts int
}

// firstError is the first error that was reported.
type firstError struct {
	once     sync.Once
	happened chan struct{} // closed when err is set
	err      error
}

func (f *firstError) report(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.happened)
	})
}

// first returns the error that was reported, if one was.
func (f *firstError) first() error {
	select {
	case <-f.happened:
		return f.err
	default:
		return nil
	}
}

// build makes a runner of a descriptor, and returns what runs beside it. It is nil when there is nothing to run.
func (l *launch) build(ctx context.Context, d Descriptor) (r *runner, beside []manager.Runnable, err error) {
	built, beside, err := l.construct(ctx, d)
	if err != nil || built == nil {
		return nil, nil, err
	}
	election, err := l.electionOf(d, built)
	if err != nil {
		return nil, nil, err
	}
	return l.newRunner(d, election, built), beside, nil
}

func (l *launch) newRunner(d Descriptor, election controller.Election, built Controller) *runner {
	return &runner{
		launch: l, descriptor: d, election: election, begun: make(chan struct{}), besides: firstError{happened: make(chan struct{})},
		current: built, state: Waiting,
	}
}

// construct calls the constructor. What was added to the context is part of the controller, save what runs beside it.
func (l *launch) construct(ctx context.Context, d Descriptor) (built Controller, beside []manager.Runnable, err error) {
	c, err := l.newContext(d.Name)
	if err != nil {
		return nil, nil, err
	}
	err = safely(func() error {
		built, err = d.New(log.IntoContext(ctx, c.logger), c)
		return err
	})
	if err != nil {
		l.tell("controller cannot be built", d.Name, err)
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := twice(c.added); err != nil {
		return nil, nil, err
	}
	var parts together
	if built != nil {
		parts = append(parts, built)
	}
	for _, added := range c.added {
		switch {
		case slices.ContainsFunc(parts, func(part Controller) bool { return same(part, added) }):
		case len(parts) > 0 && electionOf(added).Off && !d.electionOf(parts).Off:
			beside = append(beside, added)
		default:
			parts = append(parts, added)
		}
	}
	if err := l.claim(d.Name, parts); err != nil {
		return nil, nil, err
	}
	switch len(parts) {
	case 0:
		return nil, nil, nil
	case 1:
		return parts[0], beside, nil
	}
	return parts, beside, nil
}

// claim takes the names that what was built has in logs and metrics. Two controllers must not share one.
func (l *launch) claim(owner string, built []Controller) error {
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

// twice returns an error when two of what was added have one name: one of them would be taken for what is returned, or for the other.
func twice(added []manager.Runnable) error {
	first := map[string]manager.Runnable{} // by their names
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

// electionOf returns the election of the controller that was built.
func (d *Descriptor) electionOf(built Controller) controller.Election {
	if d.Election != (controller.Election{}) {
		return d.Election
	}
	return electionOf(built)
}

// same reports whether two controllers are one. Their types need not be comparable.
func same(a, b Controller) bool {
	x, isNamed := a.(named)
	y, isToo := b.(named)
	return isNamed && isToo && x.Name() == y.Name()
}

// electionOf returns what a runnable says of its leader election.
func electionOf(r Controller) (e controller.Election) {
	if parts, several := r.(together); several {
		return electionOf(parts[0])
	}
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

// safely turns a panic into an error.
func safely(run func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &reconcile.PanicError{Value: value, Stack: debug.Stack()}
		}
	}()
	return run()
}

// tell logs what has become of a controller, with the stack of a panic.
func (l *launch) tell(what, name string, err error, more ...any) {
	args := append([]any{"controller", name, "err", err}, more...)
	if panicked, ok := errors.AsType[*reconcile.PanicError](err); ok {
		args = append(args, "stack", string(panicked.Stack))
	}
	l.manager.Logger().Error(what, args...)
}

// together are controllers that run as one: the first failure ends all.
type together []Controller

// Run runs all.
func (t together) Run(ctx context.Context) error {
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

// Ready returns why parts are not.
func (t together) Ready() error {
	var errs []error
	for _, part := range t {
		if part, ok := part.(readier); ok {
			errs = append(errs, part.Ready())
		}
	}
	return errors.Join(errs...)
}

// Healthy returns why parts are not.
func (t together) Healthy(req *http.Request) error {
	var errs []error
	for _, part := range t {
		if part, ok := part.(healthier); ok {
			errs = append(errs, part.Healthy(req))
		}
	}
	return errors.Join(errs...)
}

// companion is what runs beside a controller, as a runnable of the manager: its failure is one of the controller.
type companion struct {
	name string
	run  func(ctx context.Context) error
	of   *runner
}

// besideIt returns the n-th of what runs beside the controller as a runnable.
func (r *runner) besideIt(n int, part manager.Runnable) manager.Runnable {
	c := companion{name: fmt.Sprintf("part %d beside %s", n+1, r.Name()), run: part.Run, of: r}
	if part, isNamed := part.(named); isNamed {
		c.name = part.Name()
	}
	if part, ok := part.(readier); ok {
		return readyCompanion{c, part}
	}
	return c
}

// Name returns that of what runs.
func (c companion) Name() string { return c.name }

// NeedLeaderElection returns false: it runs in every process.
func (companion) NeedLeaderElection() bool { return false }

// Run runs until ctx ends. It returns an error only for a controller whose failure ends the manager.
func (c companion) Run(ctx context.Context) error {
	err := safely(func() error { return c.run(ctx) })
	if err == nil || ctx.Err() != nil || c.of.descriptor.Restart == Fatal {
		return err
	}
	// The controller may wait to be the leader, and only then says that it has failed.
	c.of.launch.tell("what runs beside a controller has failed", c.of.Name(), err, "runnable", c.name)
	c.of.besides.report(fmt.Errorf("%s: %w", c.name, err))
	return nil
}

// readyCompanion is a companion that says whether it is ready.
type readyCompanion struct {
	companion
	readier
}

// debugHandlerOf returns the handler that a controller, or the first part of it that has one, is served by; nil if it has none.
func debugHandlerOf(c Controller) http.Handler {
	switch c := c.(type) {
	case debugged:
		return c.DebugHandler()
	case together:
		for _, part := range c {
			if h := debugHandlerOf(part); h != nil {
				return h
			}
		}
	}
	return nil
}

// Name returns that of the descriptor.
func (r *runner) Name() string { return r.descriptor.Name }

// NeedLeaderElection reports whether the controller runs only in the process of a leader.
func (r *runner) NeedLeaderElection() bool { return !r.election.Off }

// LeaderElectionGroup returns its group.
func (r *runner) LeaderElectionGroup() string { return r.election.Group }

// LeaderElectionMigratesFrom returns the group that it migrates from.
func (r *runner) LeaderElectionMigratesFrom() string { return r.election.MigratesFrom }

// LeaderElectionLease returns the name of the lease of its group, empty for the usual one.
func (r *runner) LeaderElectionLease() string { return r.election.Lease }

// Run starts the controller in its turn, and runs it until ctx ends, as often as its restart policy says. It returns an error
// only for one that ends the manager.
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
		r.launch.tell("controller has failed", r.Name(), err, "restart", r.descriptor.Restart.String())
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
		// The pause has jitter, so that what many share and has failed them does not see all at once again.
		if life.Sleep(ctx, pause/2+rand.N(pause/2+1)) != nil {
			r.note(Ended, nil)
			return nil
		}
		pause = min(2*pause, restartMost)
	}
}

// wait waits for the turn of the controller. It reports false when ctx ends first.
func (r *runner) wait(ctx context.Context) bool {
	if r.descriptor.SpecialHandling {
		return true
	}
	for _, first := range r.launch.special {
		if !first.election.Off && (r.election.Off || groupName(first.election) != groupName(r.election)) {
			continue // whoever leads that group starts it
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

// runOnce builds the controller, unless that was done, and runs it.
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
		return safely(func() error { return current.Run(ctx) })
	}
	return r.runFirst(ctx, current)
}

// runFirst runs what was built first, until it ends or what runs beside it has failed.
func (r *runner) runFirst(ctx context.Context, current Controller) error {
	running, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() {
		select {
		case <-r.besides.happened:
			cancel()
		case <-running.Done():
		}
	})
	err := safely(func() error { return current.Run(running) })
	cancel()
	looking.Wait()
	if failed := r.besides.first(); failed != nil && ctx.Err() == nil {
		return failed
	}
	return err
}

// next returns what is to be run, which is nil when there is nothing to do any more, and whether that was built first.
func (r *runner) next(ctx context.Context) (current Controller, first bool, err error) {
	r.mu.Lock()
	current, again := r.current, r.state == Restarting
	r.mu.Unlock()
	if again {
		var beside []manager.Runnable
		if current, beside, err = r.launch.construct(ctx, r.descriptor); err != nil {
			return nil, false, err
		}
		// What ran beside the first one goes on, unless it has failed: then that of this one runs with it.
		if current != nil && r.besides.first() != nil {
			current = with(current, beside)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current, r.state = current, Running
	if again {
		r.restarts++
	}
	return current, !again, nil
}

// with returns c and others as one controller.
func with(c Controller, others []manager.Runnable) Controller {
	parts, several := c.(together)
	if !several {
		parts = together{c}
	}
	for _, other := range others {
		parts = append(parts, other)
	}
	return parts
}

func (r *runner) note(state State, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	if err != nil {
		r.err = err
	}
}

// Ready returns why the controller does not work: that it has failed, or what it says itself while it runs. One that waits for
// its turn is as ready as it can be.
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
		if current, ok := current.(readier); ok {
			return current.Ready()
		}
	}
	return nil
}

// healthy returns what the controller says itself while it runs.
func (r *runner) healthy(req *http.Request) error {
	r.mu.Lock()
	current, state := r.current, r.state
	r.mu.Unlock()
	if current, ok := current.(healthier); ok && state == Running {
		return current.Healthy(req)
	}
	return nil
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
