package controller

import (
	"log/slog"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kctrl-dev/kctrl/runtime/cache"
	"github.com/kctrl-dev/kctrl/runtime/client"
	"github.com/kctrl-dev/kctrl/runtime/events"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Cluster provides access to one API server. *manager.Manager and *manager.Cluster implement it.
type Cluster interface {
	// Client returns the client for reconcilers. It reads watched kinds from the cache.
	Client() client.Client
	Cache() *cache.Cache
	Scheme() *runtime.Scheme
	RESTMapper() meta.RESTMapper
	// Config returns the configuration of the clients. It must not be modified.
	Config() *rest.Config
	// EventRecorder returns a recorder for the events of the named controller.
	EventRecorder(controller string) *events.Recorder
}

// Manager runs controllers. *manager.Manager and *manager.Cluster implement it. Functions that set up controllers and
// webhooks take this interface, so a test can pass a struct that implements only the methods that they call.
//
// A Manager may have two optional methods. Enabled(name string) bool reports whether the manager runs the named
// controller; the builders skip other controllers and declare no kinds for them. Concurrency(kind schema.GroupKind) int
// returns the number of workers of a kind's controllers; zero means MaxConcurrentReconciles.
type Manager interface {
	Cluster
	// Add makes the manager run r. It fails if the manager has another runnable with the same name.
	Add(r Runnable) error
	// AddHealthz adds a check to the liveness probe.
	AddHealthz(name string, check func(*http.Request) error)
	// AddReadyz adds a check to the readiness probe.
	AddReadyz(name string, check func(*http.Request) error)
	// Handle adds a page to the metrics server, for authorized clients.
	Handle(path string, h http.Handler) error
	// Webhooks returns the webhook server.
	Webhooks() (*server.Server, error)
	Logger() *slog.Logger
	Metrics() *metrics.Registry
	// MaxConcurrentReconciles returns the default number of workers of a controller.
	MaxConcurrentReconciles() int
}
