package manager

import (
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/internal/serve"

	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Runnable is a task that a manager runs while it is the leader. These optional methods change this:
//
//   - NeedLeaderElection() bool: if it returns false, the Runnable also runs if the manager is not the leader.
//   - LeaderElectionGroup() string returns the group that the manager must lead. LeaderElectionMigratesFrom() string
//     returns another group that it must also lead, and LeaderElectionLease() string returns the name of the group's
//     lease, see controller.Election.
//   - Name() string returns a unique name.
//   - Ready() error adds a check to /readyz.
type Runnable = controller.Runnable

// LeaderElectionRunnable is a [Runnable] that defines whether it runs only while the manager is the leader.
type LeaderElectionRunnable interface {
	NeedLeaderElection() bool
}

// RunnableFunc is a function that implements [Runnable].
type RunnableFunc func(ctx context.Context) error

// Run calls f.
func (f RunnableFunc) Run(ctx context.Context) error { return f(ctx) }

// Manager runs an operator. Create one with [New]. All methods are safe for concurrent use.
type Manager struct {
	*connection
	opts      Options
	logger    *slog.Logger
	fence     *leaderelection.Fence // nil without leader election
	system    *client.REST          // for the manager's own kinds, independent of the user's scheme
	metrics   *metrics.Registry
	servers   []listener
	recording *eventWriter

	leads chan struct{} // returned by Elected
	lead  func()        // closes leads once

	mu       sync.Mutex
	groups   map[groupName][]Runnable // not started yet
	running  map[groupName]*group     // started
	elected  []*electedGroup          // set by Run with leader election
	names    map[string]struct{}
	clusters map[string]*Cluster
	started  bool
	ended    bool
	webhooks *server.Server        // nil before the first use
	sections map[string]func() any // sections of /statusz by name

	healthz, readyz *serve.Checks
	pages           *serve.Pages // pages of the metrics server
	created         time.Time
}

// ErrStopped is wrapped by the errors of calls after the end of [Manager.Run], or on a stopped [Cluster].
var ErrStopped = errors.New("has been stopped")

// New returns a manager for the API server of config. It sends no request and starts no goroutine; call [Manager.Run].
func New(config *rest.Config, opts Options) (*Manager, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	m := &Manager{
		opts: opts, logger: opts.Logger, metrics: metrics.NewRegistry(), recording: newEventWriter("events"),
		healthz: &serve.Checks{}, readyz: &serve.Checks{}, pages: &serve.Pages{}, created: time.Now(),
		groups: map[groupName][]Runnable{}, running: map[groupName]*group{},
		names: map[string]struct{}{}, clusters: map[string]*Cluster{}, sections: map[string]func() any{},
	}
	m.leads = make(chan struct{})
	m.lead = sync.OnceFunc(func() { close(m.leads) })
	metrics.RegisterProcess(m.metrics)
	(&certificate.Files{}).Measure(m.metrics) // create the metrics even if no file is read, for alerts
	if err := m.connect(config); err != nil {
		return nil, err
	}
	m.groups[caches] = []Runnable{m.cache}
	m.groups[recorders] = []Runnable{m.recording}
	for path, page := range opts.Metrics.ExtraHandlers {
		if err := m.Handle(path, page); err != nil {
			return nil, err
		}
	}
	return m, m.addServers()
}

// ResyncPeriod returns a random time between the MinResyncPeriod of the options and twice that. Zero disables resyncs.
func (m *Manager) ResyncPeriod() time.Duration {
	least := m.opts.MinResyncPeriod
	if least <= 0 {
		return 0
	}
	return least + rand.N(least)
}

func (m *Manager) connect(config *rest.Config) error {
	if m.opts.LeaderElection.Enabled {
		m.fence = leaderelection.NewFence()
	}
	var err error
	limit := newThrottle(m.opts.QPS, m.opts.Burst)
	m.connection, err = connect(config, m.opts.Scheme, m.fence, limit, m.metrics, m.logger)
	if err != nil {
		return err
	}
	opts := m.opts.Cache
	if opts.Namespaces == nil {
		opts.Namespaces = m.opts.Namespaces
	}
	opts.Logger = cmp.Or(opts.Logger, m.logger)
	opts.Metrics = cmp.Or(opts.Metrics, m.metrics)
	opts.Resync = cmp.Or(opts.Resync, m.ResyncPeriod())
	m.open(opts)
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		return err
	}
	m.system, err = m.newClient(scheme, m.RESTMapper(), m.logger)
	return err
}

// Add makes the manager run r. If the manager already runs, r starts immediately, or when this manager becomes the
// leader. In that case, the leader election group of r, if any, must have existed when the manager started. Add fails
// if another runnable has the name of r, and with [ErrStopped] after the end of Run.
func (m *Manager) Add(r Runnable) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.addLocked(r, r)
	return err
}

// addLocked adds r, but runs as instead. remove undoes the side effects of the addition after r has ended.
func (m *Manager) addLocked(r, as Runnable) (remove func(), err error) {
	if err := checkElection(r); err != nil {
		return nil, fmt.Errorf("add %s: %w", nameOf(r), err)
	}
	named, isNamed := r.(interface{ Name() string })
	if isNamed {
		if _, taken := m.names[named.Name()]; taken {
			return nil, fmt.Errorf("there is another controller %q; give one of them another name", named.Name())
		}
	}
	if err := m.enlistLocked(groupOf(r), as); err != nil {
		return nil, fmt.Errorf("add %s: %w", nameOf(r), err)
	}
	unready := func() {}
	if ready, ok := r.(interface{ Ready() error }); ok {
		unready = m.readyz.Add(server.Owner{}, nameOf(r), func(*http.Request) error { return ready.Ready() })
	}
	if isNamed {
		m.names[named.Name()] = struct{}{}
	}
	return func() {
		unready()
		m.mu.Lock()
		defer m.mu.Unlock()
		if isNamed {
			delete(m.names, named.Name())
		}
	}, nil
}

// Logger returns the logger.
func (m *Manager) Logger() *slog.Logger { return m.logger }

// Metrics returns the registry that /metrics exposes.
func (m *Manager) Metrics() *metrics.Registry { return m.metrics }

// Namespaces returns the namespaces to which the manager is restricted; empty means all.
func (m *Manager) Namespaces() []string { return slices.Clone(m.opts.Namespaces) }

// MaxConcurrentReconciles returns the default number of workers of controllers.
func (m *Manager) MaxConcurrentReconciles() int { return m.opts.Controller.MaxConcurrentReconciles }

// Concurrency returns the default number of workers of controllers for a kind, or zero for MaxConcurrentReconciles.
func (m *Manager) Concurrency(kind schema.GroupKind) int {
	return m.opts.Controller.GroupKindConcurrency[kind.String()]
}

// Run runs all runnables until ctx ends. It then shuts down gracefully within the timeout, and returns nil. If a
// runnable fails or a lease is lost, Run shuts down in the same way, and returns the error of the runnable or
// leaderelection.ErrLost; the process should then end. Errors that runnables return after they were stopped are only
// logged. Run can be called only once.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.begin(); err != nil {
		return err
	}
	defer m.close()
	failed, fail := context.WithCancelCause(context.Background())
	if err := m.elect(fail); err != nil {
		return err
	}
	switch err := m.listen(ctx); {
	case err != nil && ctx.Err() != nil:
		return nil // ctx ended before any runnable started
	case err != nil:
		return err
	}
	// Groups run longer than ctx, because they are stopped one after the other.
	alive, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var started []*group
	for _, name := range startOrder {
		started = append(started, m.start(alive, name, fail))
	}
	select {
	case <-ctx.Done():
	case <-failed.Done():
	}
	stopErr := m.stop(started)
	return errors.Join(context.Cause(failed), stopErr)
}

// close closes the connections to all API servers. No runnable or cluster can be added afterwards.
func (m *Manager) close() {
	m.mu.Lock()
	m.ended = true
	clusters := slices.Collect(maps.Values(m.clusters))
	m.mu.Unlock()
	m.connection.close()
	for _, c := range clusters {
		c.close()
	}
}

func (m *Manager) start(ctx context.Context, name groupName, fail func(error)) *group {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := startGroup(ctx, m.groups[name], m.logger, fail)
	m.running[name] = g
	delete(m.groups, name)
	if name == controllers && m.elected == nil {
		m.lead()
	}
	return g
}

// Elected returns a channel that is closed when this manager becomes the leader of the group controller.MainGroup, or
// of any group if MainGroup has no runnables, or when the controllers start without leader election.
func (m *Manager) Elected() <-chan struct{} { return m.leads }

// enlistLocked adds r to a group, and starts it if the group has started.
func (m *Manager) enlistLocked(name groupName, r Runnable) error {
	running := m.running[name]
	switch {
	case m.ended:
		return ErrStopped
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

// enlistElectedLocked makes r run while this manager leads the group of r. The manager has started.
func (m *Manager) enlistElectedLocked(r Runnable) error {
	e := electionOf(r)
	n := slices.IndexFunc(m.elected, func(g *electedGroup) bool { return g.name == e.Group && g.from == e.MigratesFrom })
	if n < 0 {
		return fmt.Errorf("nothing was in leader election group %s, or migrated as it does, when the manager started",
			e.Group)
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
		return life.ErrAlreadyRun
	}
	m.started = true
	m.cache.Begin()
	for _, c := range m.clusters {
		c.cache.Begin()
	}
	return nil
}

// stop stops the groups in reverse order. After the timeout, the contexts of the remaining runnables end. If the
// controllers use up their own share of the time, the other groups still have time to stop normally.
func (m *Manager) stop(started []*group) error {
	m.logger.Info("stopping")
	whole, cancel := within(context.Background(), m.opts.GracefulShutdownTimeout)
	defer cancel()
	var late error // error of the controllers
	for i, g := range slices.Backward(started) {
		if startOrder[i] != controllers {
			if err := g.stop(whole); err != nil {
				return errors.Join(late, err)
			}
			continue
		}
		share, cancel := within(whole, m.opts.Controller.ShutdownTimeout)
		defer cancel()
		if late = g.stop(share); late != nil && whole.Err() != nil {
			return late
		}
	}
	if late == nil {
		m.logger.Info("stopped")
	}
	return late
}

// within returns a context that ends after the limit. A limit that is not positive means no limit.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(ctx, limit)
	}
	return context.WithCancel(ctx)
}
