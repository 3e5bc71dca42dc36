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
	utilnet "k8s.io/apimachinery/pkg/util/net"
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

// Context is what a controller is built of. It is a controller.Manager, which the builders take, so that
//
//	controller.For[*webappv1.Guestbook](c).Build(r)
//
// has the name, the clients' identity and the number of workers that the registry has given it. All methods are safe for
// concurrent use.
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

// newContext returns what the controller of that name is built of.
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

// Manager returns the manager that runs the controller, for what the Context does not have. Its clients are not the controller's, and
// checks and pages that are added to it stay when the controller is restarted.
func (c *Context) Manager() *manager.Manager { return c.launch.manager }

// Add makes r run with the controller, and end with it; if r runs without leader election and the controller with it, as
// the sources of a controller that warms up do, r runs beside it, and its failure is one of the controller.
func (c *Context) Add(r manager.Runnable) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, r)
	return nil
}

// Setup calls a function that sets up a manager, such as the SetupWithManager of a scaffolded reconciler: what that adds is
// added to the Context, and the client that it takes from its manager is that of the controller. The webhooks, pages and checks
// that it registers serve while the controller is stopped, and are replaced by those of the next one when it is restarted. Checks that
// the next one does not register are gone then.
func (c *Context) Setup(setup func(controller.Manager) error) error {
	added, err := c.launch.manager.Collect(manager.Collection{Live: c.live, Workers: c.workers, Owner: c.owner}, setup)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.added = append(c.added, added...)
	return err
}

// AddHealthz adds a check to the liveness probe, as a function of [Context.Setup] does.
func (c *Context) AddHealthz(name string, check func(*http.Request) error) {
	_ = c.Setup(func(m controller.Manager) error { m.AddHealthz(name, check); return nil }) // its only error is that of setup
}

// AddReadyz adds a check to the readiness probe, as a function of [Context.Setup] does.
func (c *Context) AddReadyz(name string, check func(*http.Request) error) {
	_ = c.Setup(func(m controller.Manager) error { m.AddReadyz(name, check); return nil }) // its only error is that of setup
}

// Handle serves a page beside the metrics, as a function of [Context.Setup] does.
func (c *Context) Handle(path string, h http.Handler) error {
	return c.Setup(func(m controller.Manager) error { return m.Handle(path, h) })
}

// Webhooks returns the server of webhooks, see [manager.Manager.Webhooks]. webhook.For takes a Context, and when the controller is
// restarted its webhooks take the place of those that it had before.
func (c *Context) Webhooks() (*webhooks.Server, error) { return c.launch.manager.Webhooks() }

// Owner returns the controller, for webhook.For.
func (c *Context) Owner() webhooks.Owner { return c.owner }

// Client returns the client of the controller: it reads the kinds that are watched from the cache, and does all else live.
// Its user agent has the name of the controller, and its credentials are those of the process, or with
// --use-service-account-credentials those of the service account of that name.
func (c *Context) Client() client.Client { return c.client }

// Live returns the client of the controller that reads from the API server too.
func (c *Context) Live() *client.REST { return c.live }

// ClientFor returns a client as [Context.Client], with another name, for a part of the controller.
func (c *Context) ClientFor(name string) (client.Client, error) {
	live, err := c.launch.clientOf(name)
	if err != nil {
		return nil, err
	}
	return c.launch.split(live), nil
}

// Cache returns the cache of the manager, which all controllers share, and which reads with the credentials of the process.
func (c *Context) Cache() *cache.Cache { return c.launch.manager.Cache() }

// Informer returns the shared informer of the kind of prototype, see [cache.Cache.Informer].
func (c *Context) Informer(prototype object.Object) (*cache.Informer, error) {
	return c.Cache().Informer(prototype)
}

// MetadataInformer returns the shared informer of a kind whose handlers get the metadata of objects. If the kind is watched
// whole, for whichever controller, it is served from that informer; otherwise only the metadata are watched.
func (c *Context) MetadataInformer(kind schema.GroupVersionKind) (*cache.Informer, error) {
	prototype := &metav1.PartialObjectMetadata{}
	prototype.SetGroupVersionKind(kind)
	return c.Cache().Informer(prototype)
}

// InformersStarted is closed when the informers of all controllers that were built at the start have been started.
func (c *Context) InformersStarted() <-chan struct{} { return c.launch.informersStarted }

// ResyncPeriod returns a time from --min-resync-period to twice that, another one each time, or zero, which is never.
func (c *Context) ResyncPeriod() time.Duration { return c.launch.manager.ResyncPeriod() }

// Config returns the configuration of the controller's clients, without the credentials of a service account.
func (c *Context) Config() *rest.Config { return c.launch.manager.Config() }

// Scheme returns that of the manager.
func (c *Context) Scheme() *runtime.Scheme { return c.launch.manager.Scheme() }

// RESTMapper returns that of the manager.
func (c *Context) RESTMapper() meta.RESTMapper { return c.launch.manager.RESTMapper() }

// Logger returns the logger, which has the name.
func (c *Context) Logger() *slog.Logger { return c.logger }

// Metrics returns what /metrics shows.
func (c *Context) Metrics() *metrics.Registry { return c.launch.manager.Metrics() }

// MaxConcurrentReconciles returns the number of workers: that of --concurrent-<name>-syncs, or of the manager.
func (c *Context) MaxConcurrentReconciles() int { return c.workers }

// EventRecorder returns a recorder of events in the name of a controller, that of the descriptor if it is empty. They are
// written with the credentials of the process.
func (c *Context) EventRecorder(controller string) *events.Recorder {
	return c.launch.manager.EventRecorder(cmp.Or(controller, c.Name()))
}

// FeatureEnabled reports whether a feature gate is on.
func (c *Context) FeatureEnabled(gate string) bool { return c.launch.registry.gates.Enabled(gate) }

// ControllerEnabled reports whether a controller runs in this program, as flags and feature gates say. An alias is as good as
// the name.
func (c *Context) ControllerEnabled(name string) bool { return c.launch.isEnabled(name) }

// countBuild returns how often the controller of that name has been built, with this time.
func (l *launch) countBuild(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.builds[name]++
	return l.builds[name]
}

// split returns a client that reads what is watched from the cache, and does all else by live.
func (l *launch) split(live *client.REST) client.Client {
	return client.NewClient(cache.Reader{Cache: l.manager.Cache(), Live: live}, live)
}

// clientOf returns a client with a user agent that ends in name, and the credentials that name has. All clients tell the
// cache of what they write.
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
		Scheme: l.manager.Scheme(), HTTPClient: httpClient, Mapper: l.manager.RESTMapper(), Journal: l.manager.Cache().Journal(),
		Logger: l.manager.Logger(),
	})
}

// serviceAccountClient returns an http.Client that is the service account of that name. There is one for each name.
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

// hangUp closes connections that nobody else can use.
func (l *launch) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, account := range l.accounts {
		utilnet.CloseIdleConnectionsFor(account.Transport)
	}
}
