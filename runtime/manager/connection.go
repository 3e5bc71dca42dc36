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

// connection is what a manager has of one API server: clients that share a pool of connections and a mapper, and a
// cache that hears of the writes of all of them.
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
// more, and with a throttle they wait for their turn, which is before the fence is asked. The requests that are sent
// are counted in measures.
func connect(
	config *rest.Config, scheme *runtime.Scheme, fence *leaderelection.Fence, limit *throttle,
	measures *metrics.Registry, logger *slog.Logger,
) (*connection, error) {
	if config == nil {
		return nil, errors.New("connect to the API server: no rest.Config")
	}
	dials := fence != nil && config.Transport == nil
	config = counted(config, measures) // first, so that it is next to the connections
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

func (c *connection) newClient(scheme *runtime.Scheme, mapper meta.RESTMapper, logger *slog.Logger) (*client.REST, error) {
	live, err := client.New(c.config, client.Options{Scheme: scheme, HTTPClient: c.http, Mapper: mapper, Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	return live, nil
}

// close ends reads that wait for a cache that was begun and will not run any more, and closes idle connections that
// nobody else can use.
func (c *connection) close() {
	ended, end := context.WithCancel(context.Background())
	end()
	_ = c.cache.Run(ended) // fails when it has run
	if c.dials {
		utilnet.CloseIdleConnectionsFor(c.http.Transport)
	}
}

// open makes the cache.
func (c *connection) open(opts cache.Options) {
	c.cache = cache.New(c.live, opts)
	c.client = client.NewClient(c.cache, c.live)
}

// HTTPClient returns what sends the requests of the clients, for further clients that share its connections. Its
// credentials are those of the configuration, and so is its fence.
func (c *connection) HTTPClient() *http.Client {
	return c.http
}

// Client returns the client that controllers use: it reads the kinds that are watched from the cache, and does all else
// live.
func (c *connection) Client() client.Client {
	return c.client
}

// Live returns the client that reads from the API server too.
func (c *connection) Live() *client.REST { return c.live }

// Cache returns the cache.
func (c *connection) Cache() *cache.Cache {
	return c.cache
}

// Scheme returns the scheme. Types are added before Run.
func (c *connection) Scheme() *runtime.Scheme {
	return c.live.Scheme()
}

// RESTMapper returns the mapper of the clients.
func (c *connection) RESTMapper() meta.RESTMapper {
	return c.live.RESTMapper()
}

// Config returns the configuration that the clients are made of. With leader election, clients that are made of it
// write nothing for a leader that is none any more. It must not be modified.
func (c *connection) Config() *rest.Config {
	return c.config
}
