package registry

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/controller"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/manager"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/object"
	webhooks "github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Context is the argument of the constructor of a controller. It implements controller.Manager, so the builders accept
// it:
//
//	controller.For[*webappv1.Guestbook](c).Build(r)
//
// The registry assigns the name, the client identity and the number of workers of the controller. All methods are safe
// for concurrent use.
type Context struct {
	owner   webhooks.Owner
	launch  *launch
	live    *client.REST
	client  client.Client
	logger  *slog.Logger
	workers int

	mu    sync.Mutex
	added []manager.Runnable // by the constructor
}

var _ controller.Manager = (*Context)(nil)

func (l *launch) newContext(name string) (*Context, error) {
	live, err := l.clientOf(name)
	if err != nil {
		return nil, err
	}
	c := &Context{
		owner: webhooks.Owner{Name: name, Build: l.countBuild(name)}, launch: l, live: live, client: l.split(live),
		logger: l.manager.Logger().With("controller", name), workers: l.manager.MaxConcurrentReconciles(),
	}
	if n := l.registry.concurrency[name]; n != nil && *n > 0 {
		c.workers = *n
	}
	return c, nil
}

// Name returns the name of the controller.
func (c *Context) Name() string { return c.owner.Name }

// Manager returns the manager that runs the controller. Use it for methods that the Context does not have. Its clients
// do not have the controller's identity, and checks and pages that are added to it are kept when the controller is
// restarted.
func (c *Context) Manager() *manager.Manager { return c.launch.manager }

// Add makes r run and end with the controller. The exception is an r that runs without leader election although the
// controller requires it, such as the sources of a controller with WarmUp: the manager runs it separately, and its
// failure is treated as a failure of the controller.
func (c *Context) Add(r manager.Runnable) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, r)
	return nil
}

// Setup calls a function that sets up a manager, such as the SetupWithManager method of a scaffolded reconciler.
// Runnables that the function adds are added to the Context, and the function gets the client of the controller. The
// webhooks, pages and checks that it adds continue to serve while the controller is stopped. After a restart, the
// webhooks, pages and checks of the new build replace them, and checks that the new build does not add are removed.
func (c *Context) Setup(setup func(controller.Manager) error) error {
	added, err := c.launch.manager.Collect(manager.Collection{Live: c.live, Workers: c.workers, Owner: c.owner}, setup)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, added...)
	return err
}

// AddHealthz adds a check to the liveness probe. The check is kept and replaced as described for [Context.Setup].
func (c *Context) AddHealthz(name string, check func(*http.Request) error) {
	// Setup returns only the error of this function, which is nil
	_ = c.Setup(func(m controller.Manager) error { m.AddHealthz(name, check); return nil })
}

// AddReadyz adds a check to the readiness probe. The check is kept and replaced as described for [Context.Setup].
func (c *Context) AddReadyz(name string, check func(*http.Request) error) {
	// Setup returns only the error of this function, which is nil
	_ = c.Setup(func(m controller.Manager) error { m.AddReadyz(name, check); return nil })
}

// Handle adds a page to the metrics server. The page is kept and replaced as described for [Context.Setup].
func (c *Context) Handle(path string, h http.Handler) error {
	return c.Setup(func(m controller.Manager) error { return m.Handle(path, h) })
}

// Webhooks returns the webhook server, see [manager.Manager.Webhooks]. webhook.For accepts a Context. When the
// controller is restarted, its new webhooks replace the old ones.
func (c *Context) Webhooks() (*webhooks.Server, error) { return c.launch.manager.Webhooks() }

// Owner returns the controller as an owner, for webhook.For.
func (c *Context) Owner() webhooks.Owner { return c.owner }

// Client returns the client of the controller. It reads watched kinds from the cache, and sends all other requests
// directly to the API server. Its user agent contains the name of the controller. It uses the credentials of the
// process or, with --use-service-account-credentials, the credentials of the service account with the controller's
// name.
func (c *Context) Client() client.Client { return c.client }

// Live returns the controller's client that sends all requests, including reads, directly to the API server.
func (c *Context) Live() *client.REST { return c.live }

// ClientFor returns a client like [Context.Client] for a part of the controller. name replaces the name of the
// controller in its user agent and service account.
func (c *Context) ClientFor(name string) (client.Client, error) {
	live, err := c.launch.clientOf(name)
	if err != nil {
		return nil, err
	}
	return c.launch.split(live), nil
}

// Cache returns the manager's cache. All controllers share it, and it uses the credentials of the process.
func (c *Context) Cache() *cache.Cache { return c.launch.manager.Cache() }

// Informer returns the shared informer of the kind of prototype, see [cache.Cache.Informer].
func (c *Context) Informer(prototype object.Object) (*cache.Informer, error) {
	return c.Cache().Informer(prototype)
}

// MetadataInformer returns the shared informer of a kind; its handlers receive only the metadata of objects. If a
// controller watches complete objects of the kind, the same watch serves both; otherwise only the metadata are watched.
func (c *Context) MetadataInformer(kind schema.GroupVersionKind) (*cache.Informer, error) {
	prototype := &metav1.PartialObjectMetadata{}
	prototype.SetGroupVersionKind(kind)
	return c.Cache().Informer(prototype)
}

// InformersStarted returns a channel that is closed when the informers of all controllers that were built at the start
// have started.
func (c *Context) InformersStarted() <-chan struct{} { return c.launch.informersStarted }

// ResyncPeriod returns a random time between --min-resync-period and twice that. Zero disables resyncs.
func (c *Context) ResyncPeriod() time.Duration { return c.launch.manager.ResyncPeriod() }

// Config returns the configuration of the controller's clients, without the credentials of a service account.
func (c *Context) Config() *rest.Config { return c.launch.manager.Config() }

// Scheme returns the manager's scheme.
func (c *Context) Scheme() *runtime.Scheme { return c.launch.manager.Scheme() }

// RESTMapper returns the manager's mapper.
func (c *Context) RESTMapper() meta.RESTMapper { return c.launch.manager.RESTMapper() }

// Logger returns the logger, which has the name of the controller.
func (c *Context) Logger() *slog.Logger { return c.logger }

// Metrics returns the registry that /metrics exposes.
func (c *Context) Metrics() *metrics.Registry { return c.launch.manager.Metrics() }

// MaxConcurrentReconciles returns the number of workers of --concurrent-<name>-syncs, or the manager's default.
func (c *Context) MaxConcurrentReconciles() int { return c.workers }

// EventRecorder returns an event recorder for the named controller. If controller is empty, the recorder uses the name
// of the descriptor. Events are written with the credentials of the process.
func (c *Context) EventRecorder(controller string) *events.Recorder {
	return c.launch.manager.EventRecorder(cmp.Or(controller, c.Name()))
}

// FeatureEnabled reports whether a feature gate is on.
func (c *Context) FeatureEnabled(gate string) bool { return c.launch.registry.gates.Enabled(gate) }

// ControllerEnabled reports whether flags and feature gates enable a controller in this program. name may be an alias.
func (c *Context) ControllerEnabled(name string) bool { return c.launch.isEnabled(name) }

// countBuild counts a build of the controller of that name, and returns the number of builds so far.
func (l *launch) countBuild(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.builds[name]++
	return l.builds[name]
}

// split returns a client that reads watched kinds from the cache, and uses live for all other requests.
func (l *launch) split(live *client.REST) client.Client {
	return client.NewClient(cache.Reader{Cache: l.manager.Cache(), Live: live}, live)
}

// clientOf returns a client with a user agent that ends in name, and with the credentials for name. Its writes are
// recorded for the cache.
func (l *launch) clientOf(name string) (*client.REST, error) {
	config := rest.CopyConfig(l.manager.Config())
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	config.UserAgent += "/" + name
	httpClient := l.manager.HTTPClient()
	if l.registry.opts.UseServiceAccountCredentials {
		var err error
		if httpClient, err = l.serviceAccountClient(config, name); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{
		Scheme: l.manager.Scheme(), HTTPClient: httpClient, Mapper: l.manager.RESTMapper(),
		Journal: l.manager.Cache().Journal(),
		Logger:  l.manager.Logger(),
	})
}

// serviceAccountClient returns the http.Client with the credentials of the service account of that name. Each name has
// one client.
func (l *launch) serviceAccountClient(config *rest.Config, name string) (*http.Client, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.accounts[name]; known != nil {
		return known, nil
	}
	namespace := l.registry.opts.ServiceAccountNamespace
	if namespace == "" {
		var err error
		if namespace, err = l.manager.Namespace(); err != nil {
			return nil, errors.Join(errors.New("service accounts outside of a pod need --service-account-namespace"), err)
		}
	}
	account, err := rest.HTTPClientFor(asServiceAccount(config, newTokens(l.manager.Live(), namespace, name)))
	if err != nil {
		return nil, err
	}
	l.accounts[name] = account
	return account, nil
}
