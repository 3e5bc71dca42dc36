package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Cluster is an API server besides the one that the manager itself works with, see [Manager.AddCluster]. It has
// clients, a cache and a mapper of its own. Controllers watch it when they are built with it in place of the manager:
//
//	controller.For[*corev1.Secret](remote).Named("remote-secret").Complete(r)
//
// They are the manager's controllers, with names that are unique there, and elected by its lease. Clusters come and
// go while the manager runs, and their controllers with them. All methods are safe for concurrent use.
type Cluster struct {
	*connection
	name    string
	manager *Manager
	// metrics are those of the controllers, and cached those of the cache. Stop closes them.
	metrics, cached *metrics.Registry
	recording       *eventWriter

	// What runs for the cluster ends in this order: what was added to it, its events, its cache.
	runnables, writers, informers phase

	mu       sync.Mutex
	removals []func() // what is to be done after the end of what was added
	stopped  bool     // nothing is added any more
}

// ClusterOptions tune a [Cluster]. The zero value has the scheme and the namespaces of the manager.
type ClusterOptions struct {
	// Scheme knows the Go types of the kinds that are read and written. Nil is that of the manager.
	Scheme *runtime.Scheme
	// Namespaces restrict what is cached and watched. Nil is those of the manager, and an empty one means all. A
	// controller over a restricted cache cannot be built while the API server is away.
	Namespaces []string
	// Cache tunes the cache further. Its Namespaces are those above, and its Logger that of the manager, unless it has
	// its own. Its Metrics are its own only: those of another cluster have the same names.
	Cache cache.Options
}

var _ controller.Manager = (*Cluster)(nil)

// AddCluster connects the manager to another API server. It makes no request. The cache starts and stops together
// with that of the manager, or starts at once when that runs already, and so do the controllers that are built with
// the cluster; while the API server cannot be reached, only the controllers that watch it wait. It fails after Run
// has ended, with [ErrStopped], and when there is a cluster of the same name.
func (m *Manager) AddCluster(name string, config *rest.Config, opts ClusterOptions) (*Cluster, error) {
	if name == "" {
		return nil, errors.New("a cluster needs a name")
	}
	opts.Scheme = cmp.Or(opts.Scheme, m.opts.Scheme)
	if opts.Cache.Namespaces == nil {
		opts.Cache.Namespaces = opts.Namespaces
	}
	if opts.Cache.Namespaces == nil {
		opts.Cache.Namespaces = m.opts.Namespaces
	}
	if err := checkNamespaces(opts.Cache.Namespaces); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	c := &Cluster{name: name, manager: m, cached: opts.Cache.Metrics.Sub(), recording: newEventWriter("events of cluster " + name)}
	opts.Cache.Metrics, opts.Cache.Logger = c.cached, cmp.Or(opts.Cache.Logger, c.Logger())
	var err error
	if c.connection, err = connect(config, opts.Scheme, m.fence, nil, m.metrics, c.Logger()); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	c.open(opts.Cache)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, taken := m.clusters[name]; taken {
		return nil, fmt.Errorf("there is another cluster %q", name)
	}
	if err := errors.Join(
		m.enlistLocked(caches, owned{clusterCache{c}, &c.informers, c}),
		m.enlistLocked(recorders, owned{c.recording, &c.writers, c}),
	); err != nil {
		return nil, fmt.Errorf("add cluster %s: %w", name, err)
	}
	c.metrics = m.metrics.Sub()
	m.clusters[name] = c
	if m.started {
		c.cache.Begin()
	}
	return c, nil
}

// Stop ends the controllers of the cluster and all else that was added to it, then what writes its events, and then
// its cache, and returns when nothing of it runs any more. Its name, and those of its controllers, are free then.
// When ctx ends first, the error names what still runs, and Stop can be called again. It must not be called by what
// it would wait for, such as a reconciler of the cluster. The manager goes on, and stops what is left of the cluster
// when it ends.
func (c *Cluster) Stop(ctx context.Context) error {
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	for _, p := range []*phase{&c.runnables, &c.writers, &c.informers} {
		if err := p.end(ctx); err != nil {
			return fmt.Errorf("stop cluster %s: %w", c.name, err)
		}
	}
	c.mu.Lock()
	removals := c.removals
	c.removals = nil
	c.mu.Unlock()
	for _, remove := range removals {
		remove()
	}
	c.metrics.Close()
	c.cached.Close()
	c.manager.forget(c)
	c.close()
	return nil
}

// forget makes the manager have nothing of a cluster that was stopped.
func (m *Manager) forget(c *Cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.clusters[c.name] == c {
		delete(m.clusters, c.name)
	}
	for name, runnables := range m.groups {
		m.groups[name] = withoutOwned(runnables, c)
	}
	for _, g := range m.elected {
		g.forget(c)
	}
}

// withoutOwned returns the runnables that are not of a cluster.
func withoutOwned(runnables []Runnable, c *Cluster) []Runnable {
	return slices.DeleteFunc(slices.Clone(runnables), func(r Runnable) bool {
		o, ok := r.(owned)
		return ok && o.cluster == c
	})
}

func (m *Manager) allClusters() []*Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.clusters))
}

// Cluster returns the cluster that was added with that name, nil when there is none.
func (m *Manager) Cluster(name string) *Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusters[name]
}

// Name returns the name.
func (c *Cluster) Name() string { return c.name }

// Add makes the manager run r, see [Manager.Add], until the cluster is stopped. When the manager runs already, r
// starts at once, or when this manager leads. Then its leader election group, if it names one, must be one that the
// manager had when it started.
func (c *Cluster) Add(r Runnable) error {
	c.manager.mu.Lock()
	defer c.manager.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("add %s to cluster %s: %w", nameOf(r), c.name, ErrStopped)
	}
	remove, err := c.manager.addLocked(r, owned{r, &c.runnables, c})
	if err != nil {
		return err
	}
	c.removals = append(c.removals, remove)
	return nil
}

// AddHealthz adds a check to the liveness probe of the manager.
func (c *Cluster) AddHealthz(name string, check func(*http.Request) error) {
	c.manager.AddHealthz(name, check)
}

// AddReadyz adds a check to the readiness probe of the manager.
func (c *Cluster) AddReadyz(name string, check func(*http.Request) error) {
	c.manager.AddReadyz(name, check)
}

// Handle serves a page beside the metrics of the manager, see [Manager.Handle].
func (c *Cluster) Handle(path string, h http.Handler) error { return c.manager.Handle(path, h) }

// Webhooks returns the server of webhooks of the manager, which the API server of the cluster may call too.
func (c *Cluster) Webhooks() (*server.Server, error) { return c.manager.Webhooks() }

// Logger returns the logger of the manager with the name of the cluster.
func (c *Cluster) Logger() *slog.Logger { return c.manager.logger.With("cluster", c.name) }

// Metrics returns a registry that that of the manager exposes until [Cluster.Stop].
func (c *Cluster) Metrics() *metrics.Registry { return c.metrics }

// MaxConcurrentReconciles returns the number of workers of controllers that say none.
func (c *Cluster) MaxConcurrentReconciles() int { return c.manager.MaxConcurrentReconciles() }

// Concurrency returns the number of workers of controllers for a kind, see [Manager.Concurrency].
func (c *Cluster) Concurrency(kind schema.GroupKind) int { return c.manager.Concurrency(kind) }

// clusterCache is the cache of a cluster as a runnable.
type clusterCache struct{ cluster *Cluster }

// Name tells the caches apart.
func (c clusterCache) Name() string { return "cache of cluster " + c.cluster.name }

// Run runs the cache.
func (c clusterCache) Run(ctx context.Context) error { return c.cluster.cache.Run(ctx) }

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

// LeaderElectionLease returns that of the runnable.
func (o owned) LeaderElectionLease() string { return electionLease(o.Runnable) }

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
