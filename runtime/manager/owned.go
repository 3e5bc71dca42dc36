package manager

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// owned is a runnable that ends with its phase in the life of a cluster, if that comes before the end of the manager.
type owned struct {
	Runnable
	phase   *phase
	cluster *Cluster
}

// Run runs the runnable. One that is stopped with its cluster cannot fail the manager.
func (o owned) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	place, begun := o.phase.enter(o.Name(), cancel)
	if !begun {
		return nil
	}
	defer o.phase.leave(place)
	err := o.Runnable.Run(ctx)
	if !o.phase.isOver() {
		return err
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		o.cluster.Logger().Error("ended with an error when it was stopped", "runnable", o.Name(), "err", err)
	}
	return nil
}

// Name returns that of the runnable.
func (o owned) Name() string { return nameOf(o.Runnable) }

// NeedLeaderElection says whether the runnable does.
func (o owned) NeedLeaderElection() bool { return groupOf(o.Runnable) == controllers }

// LeaderElectionGroup returns that of the runnable.
func (o owned) LeaderElectionGroup() string {
	group, _ := electionGroup(o.Runnable)
	return group
}

// LeaderElectionMigratesFrom returns what the runnable does.
func (o owned) LeaderElectionMigratesFrom() string {
	_, from := electionGroup(o.Runnable)
	return from
}

// phase is the life of runnables that are stopped together. The zero value is not over.
type phase struct {
	mu      sync.Mutex
	over    bool // nothing enters any more
	entered int
	running map[int]entered // by the place in the order in which they entered
	// idle is closed when the phase is over and nothing runs; nil before it is over.
	idle chan struct{}
}

// entered is a runnable in a phase.
type entered struct {
	name   string
	cancel context.CancelFunc
}

// enter notes a runnable that begins. It reports false when the phase is over.
func (p *phase) enter(name string, cancel context.CancelFunc) (place int, begun bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return 0, false
	}
	if p.running == nil {
		p.running = map[int]entered{}
	}
	p.entered++
	p.running[p.entered] = entered{name, cancel}
	return p.entered, true
}

// leave notes that a runnable has ended.
func (p *phase) leave(place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, place)
	if p.over && len(p.running) == 0 {
		close(p.idle)
	}
}

func (p *phase) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// end ends the phase, and waits until nothing of it runs any more. When ctx ends first, the error names what does.
func (p *phase) end(ctx context.Context) error {
	idle := p.close()
	select {
	case <-idle:
		return nil
	default:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, place := range slices.Sorted(maps.Keys(p.running)) {
		names = append(names, p.running[place].name)
	}
	return fmt.Errorf("%w; still running: %s", ctx.Err(), strings.Join(names, ", "))
}

// close cancels what runs, and returns what is closed when that has ended.
func (p *phase) close() (idle <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return p.idle
	}
	p.over, p.idle = true, make(chan struct{})
	if len(p.running) == 0 {
		close(p.idle)
	}
	for _, r := range p.running {
		r.cancel()
	}
	return p.idle
}
