// Package cluster provides the clients, cache and event recorders for one API server.
package cluster

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	intrec "sigs.k8s.io/controller-runtime/pkg/internal/recorder"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// Cluster has the clients and the cache of one API server.
type Cluster interface {
	recorder.Provider

	// GetHTTPClient returns the HTTP client of the clients.
	GetHTTPClient() *http.Client
	// GetConfig returns the configuration.
	GetConfig() *rest.Config
	// GetCache returns the cache.
	GetCache() cache.Cache
	// GetScheme returns the scheme.
	GetScheme() *runtime.Scheme
	// GetClient returns a client that reads from the cache.
	GetClient() client.Client
	// GetFieldIndexer returns the indexer of the cache.
	GetFieldIndexer() client.FieldIndexer
	// GetRESTMapper returns the mapper from kinds to resources.
	GetRESTMapper() meta.RESTMapper
	// GetAPIReader returns a reader that reads from the server.
	GetAPIReader() client.Reader
	// Start runs the cache until ctx ends.
	Start(ctx context.Context) error
}

// Options are the options of [New].
type Options struct {
	// Scheme has the Go types of the kinds. Nil means the scheme of client-go.
	Scheme *runtime.Scheme
	// MapperProvider creates the mapper.
	MapperProvider func(c *rest.Config, httpClient *http.Client) (meta.RESTMapper, error)
	// Logger is the logger of the cluster.
	Logger logr.Logger
	// HTTPClient sends the requests. Nil creates one from the configuration.
	HTTPClient *http.Client
	// Cache are the options of the cache.
	Cache cache.Options
	// NewCache creates the cache.
	NewCache cache.NewCacheFunc
	// Client are the options of the client.
	Client client.Options
	// NewClient creates the client.
	NewClient client.NewClientFunc
	// EventBroadcaster records core/v1 events.
	//
	// Deprecated: the cluster has its own broadcasters.
	EventBroadcaster record.EventBroadcaster
}

// Option changes the options of [New].
type Option func(*Options)

// New returns a cluster for the server of config. It starts nothing.
func New(config *rest.Config, opts ...Option) (Cluster, error) {
	if config == nil {
		return nil, errors.New("must specify Config")
	}
	original := config
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	var options Options
	for _, opt := range opts {
		opt(&options)
	}
	if err := options.complete(config); err != nil {
		return nil, err
	}
	c := &cluster{config: original, httpClient: options.HTTPClient, scheme: options.Scheme, logger: options.Logger}
	var err error
	if c.mapper, err = options.MapperProvider(config, options.HTTPClient); err != nil {
		options.Logger.Error(err, "Failed to get API Group-Resources")
		return nil, err
	}
	if err := c.connect(config, options); err != nil {
		return nil, err
	}
	c.Provider, err = intrec.New(config, client.CountRequests(options.HTTPClient), options.Scheme, c.mapper,
		options.Logger.WithName("events"), options.EventBroadcaster)
	return c, err
}

// complete sets the defaults.
func (o *Options) complete(config *rest.Config) error {
	if o.HTTPClient == nil {
		var err error
		if o.HTTPClient, err = rest.HTTPClientFor(config); err != nil {
			return err
		}
	}
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	if o.MapperProvider == nil {
		o.MapperProvider = apiutil.NewDynamicRESTMapper
	}
	if o.NewClient == nil {
		o.NewClient = client.New
	}
	if o.NewCache == nil {
		o.NewCache = cache.New
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logf.RuntimeLog.WithName("cluster")
	}
	return nil
}

// cluster is a [Cluster].
type cluster struct {
	*intrec.Provider
	config     *rest.Config
	httpClient *http.Client
	scheme     *runtime.Scheme
	mapper     meta.RESTMapper
	logger     logr.Logger
	cache      cache.Cache
	client     client.Client
	apiReader  client.Reader
}

// connect creates the cache and the clients.
func (c *cluster) connect(config *rest.Config, options Options) (err error) {
	cacheOptions := options.Cache
	setDefault(&cacheOptions.Scheme, options.Scheme)
	setDefault(&cacheOptions.HTTPClient, options.HTTPClient)
	if cacheOptions.Mapper == nil {
		cacheOptions.Mapper = c.mapper
	}
	if c.cache, err = options.NewCache(config, cacheOptions); err != nil {
		return err
	}
	clientOptions := options.Client
	setDefault(&clientOptions.Scheme, options.Scheme)
	setDefault(&clientOptions.HTTPClient, options.HTTPClient)
	if clientOptions.Mapper == nil {
		clientOptions.Mapper = c.mapper
	}
	var cached client.CacheOptions
	if clientOptions.Cache != nil {
		cached = *clientOptions.Cache
	}
	if cached.Reader == nil {
		cached.Reader = c.cache
	}
	clientOptions.Cache = &cached
	if c.client, err = options.NewClient(config, clientOptions); err != nil {
		return err
	}
	c.apiReader, err = client.New(config, client.Options{
		HTTPClient: options.HTTPClient, Scheme: options.Scheme, Mapper: c.mapper,
	})
	return err
}

func setDefault[T any](field **T, value *T) {
	if *field == nil {
		*field = value
	}
}

func (c *cluster) GetConfig() *rest.Config              { return c.config }
func (c *cluster) GetHTTPClient() *http.Client          { return c.httpClient }
func (c *cluster) GetClient() client.Client             { return c.client }
func (c *cluster) GetScheme() *runtime.Scheme           { return c.scheme }
func (c *cluster) GetFieldIndexer() client.FieldIndexer { return c.cache }
func (c *cluster) GetCache() cache.Cache                { return c.cache }
func (c *cluster) GetRESTMapper() meta.RESTMapper       { return c.mapper }
func (c *cluster) GetAPIReader() client.Reader          { return c.apiReader }

// GetLogger returns the logger.
func (c *cluster) GetLogger() logr.Logger { return c.logger }

// Start implements [Cluster].
func (c *cluster) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	written := make(chan error, 1)
	go func() { written <- c.Provider.Start(ctx) }()
	err := c.cache.Start(ctx)
	cancel()
	return errors.Join(err, <-written)
}
