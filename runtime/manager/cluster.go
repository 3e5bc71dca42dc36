package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/internal/life"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Cluster is an additional API server of a manager, see [Manager.AddCluster]. It has its own clients, cache and mapper.
// To watch its kinds, build a controller with the cluster instead of the manager:
//
//	controller.For[*corev1.Secret](remote).Named("remote-secret").Complete(r)
//
// Such controllers belong to the manager: their names must be unique in the manager, and leader election uses the
// manager's lease. Clusters can be added and stopped while the manager runs, together with their controllers. All
// methods are safe for concurrent use.
type Cluster struct {
	*connection
	name    string
	manager *Manager
	// metrics is the registry of the controllers, and cached is the registry of the cache. Stop closes them.
	metrics, cached *metrics.Registry
	recording       *eventWriter

	// The phases end in this order: the cluster's runnables, its event writer, its cache.
	runnables, writers, informers phase

	mu       sync.Mutex
	removals []func() // called after the end of the runnables
	stopped  bool     // no further additions
}

// ClusterOptions configure a [Cluster]. The zero value means the scheme and the namespaces of the manager.
type ClusterOptions struct {
	// Scheme has the Go types of the kinds that the program reads and writes. Nil means the manager's scheme.
	Scheme *runtime.Scheme
	// Namespaces are the cached and watched namespaces. Nil means the manager's namespaces, and an empty slice that is not
	// nil means all. If it is not empty, no controller can be built for the cluster while its API server is unreachable.
	Namespaces []string
	// Cache has the other options of the cache. The Namespaces above override its Namespaces. Its Logger defaults to the
	// manager's logger, but its Metrics do not, because the metrics of other clusters have the same names.
	Cache cache.Options
}

var _ controller.Manager = (*Cluster)(nil)

// AddCluster connects the manager to another API server. It sends no request. The cluster's cache and controllers start
// and stop with the manager's cache and controllers, or start immediately if these already run. While the API server is
// unreachable, only the controllers that watch it wait. AddCluster fails if a cluster already has that name, and with
// [ErrStopped] after Run has ended.
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
	c := &Cluster{name: name, manager: m, cached: opts.Cache.Metrics.Sub(),
		recording: newEventWriter("events of cluster " + name)}
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
		m.enlistLocked(caches, owned{c.cache, "cache of cluster " + name, &c.informers, c}),
		m.enlistLocked(recorders, owned{c.recording, c.recording.name, &c.writers, c}),
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

// Stop ends the controllers and other runnables of the cluster, then its event writer, and then its cache, and returns
// after all of them have ended. The names of the cluster and its controllers can then be used again. If ctx ends first,
// the error contains the names of the runnables that still run, and Stop can be called again. A goroutine that Stop
// waits for, such as a reconciler of the cluster, must not call Stop.
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

// forget removes a stopped cluster from the manager.
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
		g.mu.Lock()
		g.runnables = withoutOwned(g.runnables, c)
		g.mu.Unlock()
	}
}

// withoutOwned returns the runnables that do not belong to the cluster.
func withoutOwned(runnables []Runnable, c *Cluster) []Runnable {
	return slices.DeleteFunc(slices.Clone(runnables), func(r Runnable) bool {
		o, ok := r.(owned)
		return ok && o.cluster == c
	})
}

// Cluster returns the cluster with that name, or nil.
func (m *Manager) Cluster(name string) *Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusters[name]
}

// Name returns the name.
func (c *Cluster) Name() string { return c.name }

// Add makes the manager run r until the cluster is stopped. See [Manager.Add] for additions while the manager runs.
func (c *Cluster) Add(r Runnable) error {
	c.manager.mu.Lock()
	defer c.manager.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return fmt.Errorf("add %s to cluster %s: %w", nameOf(r), c.name, ErrStopped)
	}
	remove, err := c.manager.addLocked(r, owned{r, nameOf(r), &c.runnables, c})
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

// Handle adds a page to the manager's metrics server, see [Manager.Handle].
func (c *Cluster) Handle(path string, h http.Handler) error { return c.manager.Handle(path, h) }

// Webhooks returns the manager's webhook server. The cluster's API server may also call it.
func (c *Cluster) Webhooks() (*server.Server, error) { return c.manager.Webhooks() }

// Logger returns the manager's logger with the name of the cluster.
func (c *Cluster) Logger() *slog.Logger { return c.manager.logger.With("cluster", c.name) }

// Metrics returns the cluster's registry. The manager's registry exposes its metrics until [Cluster.Stop].
func (c *Cluster) Metrics() *metrics.Registry { return c.metrics }

// MaxConcurrentReconciles returns the default number of workers of controllers.
func (c *Cluster) MaxConcurrentReconciles() int { return c.manager.MaxConcurrentReconciles() }

// Concurrency returns the number of workers of controllers for a kind, see [Manager.Concurrency].
func (c *Cluster) Concurrency(kind schema.GroupKind) int { return c.manager.Concurrency(kind) }

// owned is a runnable that belongs to a phase of a cluster, and ends with it or with the manager.
type owned struct {
	Runnable
	name    string
	phase   *phase
	cluster *Cluster
}

// Run runs the runnable. If it is stopped with its cluster, its error does not end the manager.
func (o owned) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self := &entered{o.name, cancel, make(chan struct{})}
	if !o.phase.enter(self) {
		return nil
	}
	defer o.phase.leave(self)
	err := o.Runnable.Run(ctx)
	if !o.phase.isOver() {
		return err
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		o.cluster.Logger().Error("ended with an error when it was stopped", "runnable", o.name, "err", err)
	}
	return nil
}

func (o owned) Name() string { return o.name }

// phase is a set of runnables that are stopped together. The zero value is open.
type phase struct {
	mu      sync.Mutex
	over    bool       // no runnable can be added
	running []*entered // in order of entry
}

// entered is a runnable of a phase.
type entered struct {
	name   string
	cancel context.CancelFunc
	left   chan struct{} // closed when the runnable has ended
}

// enter adds a runnable that begins. It reports false if the phase is over.
func (p *phase) enter(r *entered) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.running = append(p.running, r)
	}
	return !p.over
}

// leave removes a runnable that has ended.
func (p *phase) leave(r *entered) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = slices.DeleteFunc(p.running, func(other *entered) bool { return other == r })
	close(r.left)
}

func (p *phase) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}

// end ends the phase, and waits for its runnables. If ctx ends first, the error names the runnables that still run.
func (p *phase) end(ctx context.Context) error {
	p.mu.Lock()
	p.over = true
	running := slices.Clone(p.running)
	p.mu.Unlock()
	for _, r := range running {
		r.cancel()
	}
	var late []string
	for _, r := range running {
		select {
		case <-r.left:
		case <-ctx.Done():
			if !life.IsClosed(r.left) {
				late = append(late, r.name)
			}
		}
	}
	if len(late) > 0 {
		return fmt.Errorf("%w; still running: %s", ctx.Err(), strings.Join(late, ", "))
	}
	return nil
}
