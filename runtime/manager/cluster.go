package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// Cluster is an API server besides the one that the manager itself works with, see [Manager.AddCluster]. It has clients,
// a cache and a mapper of its own. Controllers watch it when they are built with it in place of the manager:
//
//	controller.For[*corev1.Secret](remote).Named("remote-secret").Complete(r)
//
// They are the manager's controllers, with names that are unique there, and elected by its lease. All methods are safe
// for concurrent use.
type Cluster struct {
	*connection
	name    string
	manager *Manager
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

// AddCluster connects the manager to another API server. It makes no request. The cache starts and stops together with
// that of the manager; while the API server cannot be reached, only the controllers that watch it wait. It fails after
// Run, and when there is a cluster of the same name.
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
	c := &Cluster{name: name, manager: m}
	opts.Cache.Logger = cmp.Or(opts.Cache.Logger, c.Logger())
	var err error
	if c.connection, err = connect(config, opts.Scheme, m.fence, c.Logger()); err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	c.open(opts.Cache)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return nil, fmt.Errorf("add cluster %s: %w", name, ErrStarted)
	}
	if _, taken := m.clusters[name]; taken {
		return nil, fmt.Errorf("there is another cluster %q", name)
	}
	m.clusters[name] = c
	m.groups[caches] = append(m.groups[caches], clusterCache{c})
	return c, nil
}

// Cluster returns the cluster that was added with that name, nil when there is none.
func (m *Manager) Cluster(name string) *Cluster {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clusters[name]
}

// Name returns the name.
func (c *Cluster) Name() string { return c.name }

// Add makes the manager run r, see [Manager.Add].
func (c *Cluster) Add(r Runnable) error { return c.manager.Add(r) }

// Logger returns the logger of the manager with the name of the cluster.
func (c *Cluster) Logger() *slog.Logger { return c.manager.logger.With("cluster", c.name) }

// Metrics returns the registry of the manager.
func (c *Cluster) Metrics() *metrics.Registry { return c.manager.metrics }

// MaxConcurrentReconciles returns the number of workers of controllers that say none.
func (c *Cluster) MaxConcurrentReconciles() int { return c.manager.MaxConcurrentReconciles() }

// clusterCache is the cache of a cluster as a runnable.
type clusterCache struct{ cluster *Cluster }

// Name tells the caches apart.
func (c clusterCache) Name() string { return "cache of cluster " + c.cluster.name }

// Run runs the cache.
func (c clusterCache) Run(ctx context.Context) error { return c.cluster.cache.Run(ctx) }

// connection is what a manager has of one API server: clients that share a pool of connections and a mapper, and a cache
// that hears of the writes of all of them.
type connection struct {
	config *rest.Config
	// dials says that the connections are opened by a function that nobody else has.
	dials  bool
	http   *http.Client
	live   *client.REST
	client client.Client
	cache  *cache.Cache
}

// connect makes the clients for the API server of config. With a fence they write nothing for a leader that is none any
// more.
func connect(config *rest.Config, scheme *runtime.Scheme, fence *leaderelection.Fence, logger *slog.Logger) (*connection, error) {
	if config == nil {
		return nil, errors.New("connect to the API server: no rest.Config")
	}
	dials := fence != nil && config.Transport == nil
	if fence != nil {
		config = fenced(config, fence)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	c := &connection{config: config, dials: dials, http: httpClient}
	c.live, err = c.newClient(scheme, nil, logger)
	return c, err
}

// fenced returns config with a fence between it and the API server.
func fenced(config *rest.Config, fence *leaderelection.Fence) *rest.Config {
	config = rest.CopyConfig(config)
	if config.Transport == nil {
		dial := leaderelection.Dial(config.Dial)
		if dial == nil {
			dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
		}
		config.Dial = fence.Dialer(dial)
	}
	config.Wrap(fence.RoundTripper)
	return config
}

func (c *connection) newClient(scheme *runtime.Scheme, mapper meta.RESTMapper, logger *slog.Logger) (*client.REST, error) {
	live, err := client.New(c.config, client.Options{Scheme: scheme, HTTPClient: c.http, Mapper: mapper, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return live, nil
}

// hangUp closes idle connections that nobody else can use.
func (c *connection) hangUp() {
	if c.dials {
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	}
}

// open makes the cache.
func (c *connection) open(opts cache.Options) {
	c.cache = cache.New(c.live, opts)
	c.client = client.NewClient(c.cache, c.live)
}

// Client returns the client that controllers use: it reads the kinds that are watched from the cache, and does all else
// live.
func (c *connection) Client() client.Client { return c.client }

// Live returns the client that reads from the API server too.
func (c *connection) Live() *client.REST { return c.live }

// Cache returns the cache.
func (c *connection) Cache() *cache.Cache { return c.cache }

// Scheme returns the scheme. Types are added before Run.
func (c *connection) Scheme() *runtime.Scheme { return c.live.Scheme() }

// RESTMapper returns the mapper of the clients.
func (c *connection) RESTMapper() meta.RESTMapper { return c.live.RESTMapper() }

// Config returns the configuration that the clients are made of. With leader election, clients that are made of it write
// nothing for a leader that is none any more. It must not be modified.
func (c *connection) Config() *rest.Config { return c.config }
