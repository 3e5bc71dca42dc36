package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/leaderelection"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
)

// errNoServer is the error of LoadConfig when the places where it looked say nothing.
var errNoServer = errors.New("no API server is named")

// LoadConfig finds the API server: by the given kubeconfig, unless it is empty, by $KUBECONFIG, by the pod's service account,
// or by ~/.kube/config. The configuration is the caller's.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	rules.WarnIfAllMissing = false // the error below says it
	fromEnv := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if kubeconfig == "" && fromEnv == "" {
		config, err := rest.InClusterConfig()
		if !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	switch {
	case !clientcmd.IsEmptyConfig(err):
		return config, err
	case kubeconfig != "":
		return nil, fmt.Errorf("%w in %s", errNoServer, kubeconfig)
	case fromEnv != "":
		return nil, fmt.Errorf("%w in %s, which $KUBECONFIG names", errNoServer, fromEnv)
	}
	return nil, fmt.Errorf("%w in ~/.kube/config, and this is not a pod", errNoServer)
}

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

// close ends reads that wait for a cache that was begun and will not run any more, and closes idle connections that nobody
// else can use.
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

// counted returns config with a counter of the requests that are sent, under the name and the labels of client-go.
func counted(config *rest.Config, measures *metrics.Registry) *rest.Config {
	sent := measures.Counter("rest_client_requests_total", "Requests to API servers by status code, method and host.",
		"code", "method", "host")
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{sent, next} })
	return config
}

// counting counts requests.
type counting struct {
	sent *metrics.Counter
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	code := "<error>"
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	c.sent.Inc(code, req.Method, req.URL.Host)
	return resp, err
}

// WrappedRoundTripper returns what sends the requests, for those who look for a transport's connections.
func (c counting) WrappedRoundTripper() http.RoundTripper { return c.next }

// throttle lets requests through in the order in which they came, so many each second and so many at once.
type throttle struct {
	every time.Duration // between two requests
	saved time.Duration // how much of it can be saved up

	mu   sync.Mutex
	next time.Time // when the next request has its turn
}

// newThrottle returns nil when there is no limit.
func newThrottle(qps float64, burst int) *throttle {
	if qps <= 0 {
		return nil
	}
	const most = float64(1 << 60) // 36 years, which no sum of two makes overflow
	every := min(most, float64(time.Second)/qps)
	return &throttle{every: time.Duration(every), saved: time.Duration(min(most, every*float64(max(1, burst)-1)))}
}

// turn takes a turn, and returns how long it is until then.
func (l *throttle) turn() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if earliest := now.Add(-l.saved); l.next.Before(earliest) {
		l.next = earliest
	}
	wait := l.next.Sub(now)
	l.next = l.next.Add(l.every)
	return wait
}

func (l *throttle) wait(ctx context.Context) error {
	wait := l.turn()
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *throttle) roundTripper(next http.RoundTripper) http.RoundTripper {
	return throttled{l, next}
}

// throttled sends requests in their turn.
type throttled struct {
	limit *throttle
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t throttled) RoundTrip(req *http.Request) (*http.Response, error) {
	// A lease that had to wait for others would be lost.
	if !strings.Contains(req.URL.Path, "/apis/"+coordinationv1.GroupName+"/") {
		if err := t.limit.wait(req.Context()); err != nil {
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, err
		}
	}
	return t.next.RoundTrip(req)
}

// WrappedRoundTripper returns what sends the requests, for those who look for a transport's connections.
func (t throttled) WrappedRoundTripper() http.RoundTripper { return t.next }

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

// Config returns the configuration that the clients are made of. With leader election, clients that are made of it write
// nothing for a leader that is none any more. It must not be modified.
func (c *connection) Config() *rest.Config {
	return c.config
}
