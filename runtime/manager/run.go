package manager

import (
	"context"
	"errors"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Run runs everything until ctx ends, and then stops it in good order, within the graceful shutdown timeout. It returns
// nil then. It returns early, after the same shutdown, with the first error of anything that runs, or with
// leaderelection.ErrLost: the process should then end. It can be called once.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	// Groups outlive ctx: they are stopped one after the other.
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	failed := newFailure()
	var started []*group
	for _, name := range startOrder {
		runnables := m.groups[name]
		if name == controllers && m.opts.LeaderElection {
			elected, err := m.elected(runnables)
			if err != nil {
				failed.report(err)
				break
			}
			runnables = []Runnable{elected}
		}
		started = append(started, startGroup(alive, runnables, failed.report))
	}
	select {
	case <-ctx.Done():
	case <-failed.happened:
	}
	return errors.Join(failed.err, m.stop(started))
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

// stop stops the groups, last started first.
func (m *Manager) stop(started []*group) error {
	m.logger.Info("stopping")
	timer := time.NewTimer(m.opts.GracefulShutdownTimeout)
	defer timer.Stop()
	for i := len(started) - 1; i >= 0; i-- {
		if err := started[i].stop(timer.C); err != nil {
			for _, g := range started[:i] {
				g.cancel()
			}
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

// elected runs runnables while this manager holds the lease.
func (m *Manager) elected(runnables []Runnable) (Runnable, error) {
	namespace := m.opts.LeaderElectionNamespace
	if namespace == "" {
		var err error
		if namespace, err = podNamespace(); err != nil {
			return nil, err
		}
	}
	elector, err := leaderelection.New(leases{m.system}, leaderelection.Options{
		Namespace: namespace, Name: m.opts.LeaderElectionID, ReleaseOnExit: true, Logger: m.logger, Metrics: m.metrics,
	})
	if err != nil {
		return nil, err
	}
	return &electedGroup{elector: elector, runnables: runnables}, nil
}

// electedGroup is the group of those that run while this manager leads, as one runnable.
type electedGroup struct {
	elector   *leaderelection.Elector
	runnables []Runnable
}

// Name returns the name of the group.
func (g *electedGroup) Name() string { return "leader election" }

// Run waits for the lease, runs the group while it is held, and gives it back.
func (g *electedGroup) Run(ctx context.Context) error {
	return g.elector.Run(ctx, func(ctx context.Context) error {
		failed := newFailure()
		group := startGroup(ctx, g.runnables, failed.report)
		select {
		case <-ctx.Done():
		case <-failed.happened:
		}
		group.cancel()
		<-group.ended // the lease is held until the last has ended
		select {
		case <-failed.happened:
			return failed.err
		default:
			return nil
		}
	})
}

// leases reads and writes Leases live.
type leases struct{ live *client.REST }

func (l leases) Get(ctx context.Context, key object.Key, lease *coordinationv1.Lease) error {
	return l.live.Get(ctx, key, lease)
}

func (l leases) Create(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.live.Create(ctx, lease)
}

func (l leases) Update(ctx context.Context, lease *coordinationv1.Lease) error {
	return l.live.Update(ctx, lease)
}
