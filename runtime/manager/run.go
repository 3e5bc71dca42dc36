package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/object"
)

// Run runs everything until ctx ends, and then stops it in good order, within the graceful shutdown timeout. It returns
// nil then. It returns early, after the same shutdown, with the first error of anything that runs, or with
// leaderelection.ErrLost: the process should then end. An error of something that has been stopped is only logged. Run
// can be called once.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	if err := m.elect(); err != nil {
		return err
	}
	if err := m.listen(ctx); err != nil {
		return err
	}
	// Groups outlive ctx: they are stopped one after the other.
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	failed := newFailure()
	var started []*group
	for _, name := range startOrder {
		started = append(started, startGroup(alive, m.groups[name], m.logger, failed.report))
	}
	select {
	case <-ctx.Done():
	case <-failed.happened:
	}
	stopErr := m.stop(started)
	return errors.Join(failed.first(), stopErr)
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

// elect makes the controllers run only while this manager holds the lease, if that is wanted.
func (m *Manager) elect() error {
	if !m.opts.LeaderElection {
		return nil
	}
	elected, err := m.elected(m.groups[controllers])
	if err != nil {
		return err
	}
	m.groups[controllers] = []Runnable{elected}
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

// elected runs runnables while this manager holds the lease.
func (m *Manager) elected(runnables []Runnable) (Runnable, error) {
	namespace := m.opts.LeaderElectionNamespace
	if namespace == "" {
		var err error
		if namespace, err = podNamespace(namespaceFile); err != nil {
			return nil, err
		}
	}
	elector, err := leaderelection.New(leases{m.system}, leaderelection.Options{
		Namespace: namespace, Name: m.opts.LeaderElectionID, ReleaseOnExit: true, Logger: m.logger, Metrics: m.metrics,
	})
	if err != nil {
		return nil, err
	}
	return &electedGroup{elector: elector, runnables: runnables, logger: m.logger}, nil
}

// electedGroup is the group of those that run while this manager leads, as one runnable.
type electedGroup struct {
	elector   *leaderelection.Elector
	runnables []Runnable
	logger    *slog.Logger

	mu      sync.Mutex
	leading *group // nil while another manager leads, and after the last runnable has ended
}

// Name returns the name of the group.
func (g *electedGroup) Name() string { return "leader election" }

// Run waits for the lease, runs the group while it is held, and gives it back.
func (g *electedGroup) Run(ctx context.Context) error {
	return g.elector.Run(ctx, func(ctx context.Context) error {
		failed := newFailure()
		group := startGroup(ctx, g.runnables, g.logger, failed.report)
		g.setLeading(group)
		defer g.setLeading(nil)
		select {
		case <-ctx.Done():
		case <-failed.happened:
		}
		group.cancel()
		<-group.ended // the lease is held until the last has ended
		return failed.first()
	})
}

func (g *electedGroup) setLeading(leading *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leading = leading
}

// stragglers returns the names of those in the group that still run, or of the group when only the lease is left.
func (g *electedGroup) stragglers() []string {
	g.mu.Lock()
	leading := g.leading
	g.mu.Unlock()
	if leading == nil {
		return []string{g.Name()}
	}
	return leading.stragglers()
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
