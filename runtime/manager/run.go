package manager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Run runs everything until ctx ends, and then stops it in good order, within the graceful shutdown timeout. It returns
// nil then. It returns early, after the same shutdown, with the first error of anything that runs, or with
// leaderelection.ErrLost: the process should then end. An error of something that has been stopped is only logged. Run
// can be called once.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	failed := newFailure()
	if err := m.elect(failed.report); err != nil {
		return err
	}
	if err := m.listen(ctx); err != nil {
		return err
	}
	// Groups outlive ctx: they are stopped one after the other.
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var started []*group
	for _, name := range startOrder {
		started = append(started, m.start(alive, name, failed.report))
	}
	select {
	case <-ctx.Done():
	case <-failed.happened:
	}
	stopErr := m.stop(started)
	m.hangUp()
	for _, c := range m.allClusters() {
		c.hangUp()
	}
	return errors.Join(failed.first(), stopErr)
}

func (m *Manager) elect(lost func(error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.electLocked(lost)
}

// start starts a group with what is in it so far.
func (m *Manager) start(ctx context.Context, name groupName, fail func(error)) *group {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := startGroup(ctx, m.groups[name], m.logger, fail)
	m.running[name] = g
	delete(m.groups, name)
	return g
}

// enlistLocked makes r run with a group: when that starts, or at once.
func (m *Manager) enlistLocked(name groupName, r Runnable) error {
	running := m.running[name]
	switch {
	case name == controllers && m.elected != nil:
		return m.enlistElectedLocked(r)
	case running == nil:
		m.groups[name] = append(m.groups[name], r)
		return nil
	case !running.add(r):
		return ErrStopped
	}
	return nil
}

// enlistElectedLocked makes r run while this manager, which has started, leads its group.
func (m *Manager) enlistElectedLocked(r Runnable) error {
	name, from := electionGroup(r)
	n := slices.IndexFunc(m.elected, func(g *electedGroup) bool { return g.name == name && g.from == from })
	if n < 0 {
		return fmt.Errorf("nothing was in leader election group %s, or migrated as it does, when the manager started", name)
	}
	if !m.elected[n].add(r) {
		return ErrStopped
	}
	return nil
}

func (m *Manager) begin() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return ErrStarted
	}
	m.started = true
	return nil
}

// listen opens the addresses of all servers, so that one that is taken is an error before anything runs.
func (m *Manager) listen(ctx context.Context) error {
	for i, s := range m.servers {
		if err := s.listen(ctx); err != nil {
			for _, open := range m.servers[:i] {
				open.close()
			}
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// stop stops the groups, last started first. After the timeout the rest end with the context that Run gave them.
func (m *Manager) stop(started []*group) error {
	m.logger.Info("stopping")
	timer := time.NewTimer(m.opts.GracefulShutdownTimeout)
	defer timer.Stop()
	for i := len(started) - 1; i >= 0; i-- {
		if err := started[i].stop(timer.C); err != nil {
			return err
		}
	}
	m.logger.Info("stopped")
	return nil
}

// failure keeps the first error that is reported.
type failure struct {
	once     sync.Once
	happened chan struct{}
	err      error // set before happened is closed
}

func newFailure() *failure { return &failure{happened: make(chan struct{})} }

func (f *failure) report(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.happened)
	})
}

// first returns the error that was reported, if one was.
func (f *failure) first() error {
	select {
	case <-f.happened:
		return f.err
	default:
		return nil
	}
}
