package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// connection is the manager's connection to one API server. It has clients that share a connection pool and a mapper,
// and a cache that receives the writes of all these clients.
type connection struct {
	config *rest.Config
	// dials means that only this connection uses its dial function.
	dials  bool
	http   *http.Client
	live   *client.REST
	client client.Client
	cache  *cache.Cache
}

// connect creates the clients for the API server of config. With a fence, they send no requests of an ended term. With
// a throttle, they wait for their turn before the fence checks the term. measures counts the sent requests.
func connect(
	config *rest.Config, scheme *runtime.Scheme, fence *leaderelection.Fence, limit *throttle,
	measures *metrics.Registry, logger *slog.Logger,
) (*connection, error) {
	if config == nil {
		return nil, errors.New("connect to the API server: no rest.Config")
	}
	dials := fence != nil && config.Transport == nil
	config = counted(config, measures) // first, so that only requests that are sent are counted
	if fence != nil {
		config = fence.Guard(config)
	}
	if limit != nil {
		config = rest.CopyConfig(config)
		config.Wrap(limit.roundTripper)
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	c := &connection{config: config, dials: dials, http: httpClient}
	c.live, err = c.newClient(scheme, nil, logger)
	return c, err
}

func (c *connection) newClient(scheme *runtime.Scheme, mapper meta.RESTMapper,
	logger *slog.Logger) (*client.REST, error) {
	live, err := client.New(c.config, client.Options{Scheme: scheme, HTTPClient: c.http, Mapper: mapper, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return live, nil
}

// close ends reads that wait for the cache if it never runs, and closes idle connections that are not shared.
func (c *connection) close() {
	ended, end := context.WithCancel(context.Background())
	end()
	_ = c.cache.Run(ended) // fails if it has run
	if c.dials {
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	}
}

func (c *connection) open(opts cache.Options) {
	c.cache = cache.New(c.live, opts)
	c.client = client.NewClient(c.cache, c.live)
}

// HTTPClient returns the HTTP client of the clients, with the credentials and the fence of the configuration.
func (c *connection) HTTPClient() *http.Client { return c.http }

// Client returns the client for controllers. It reads watched kinds from the cache, and everything else live.
func (c *connection) Client() client.Client { return c.client }

// Live returns the client that sends all requests, including reads, directly to the API server.
func (c *connection) Live() *client.REST { return c.live }

// Cache returns the cache.
func (c *connection) Cache() *cache.Cache { return c.cache }

// Scheme returns the scheme. Add types before Run.
func (c *connection) Scheme() *runtime.Scheme { return c.live.Scheme() }

// RESTMapper returns the mapper of the clients.
func (c *connection) RESTMapper() meta.RESTMapper { return c.live.RESTMapper() }

// Config returns the configuration of the clients, with the fence of leader election. It must not be modified.
func (c *connection) Config() *rest.Config { return c.config }
