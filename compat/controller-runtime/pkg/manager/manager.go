// Package manager runs the controllers of a program. It uses the leader election of kctrl, which does not send requests
// after the end of a term.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	kleaderelection "github.com/kctrl-dev/kctrl/runtime/leaderelection"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/leaderelection"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// Manager has the shared components of controllers, and runs them.
type Manager interface {
	cluster.Cluster

	// Add adds a runnable.
	Add(Runnable) error
	// Elected returns a channel that is closed when the process becomes the leader, or starts without leader election.
	Elected() <-chan struct{}
	// AddMetricsServerExtraHandler adds a handler to the metrics server.
	AddMetricsServerExtraHandler(path string, handler http.Handler) error
	// AddHealthzCheck adds a check of the liveness probe.
	AddHealthzCheck(name string, check healthz.Checker) error
	// AddReadyzCheck adds a check of the readiness probe.
	AddReadyzCheck(name string, check healthz.Checker) error
	// Start runs all components until ctx ends or one fails.
	Start(ctx context.Context) error
	// GetWebhookServer returns the webhook server and adds it to the manager.
	GetWebhookServer() webhook.Server
	// GetLogger returns the logger.
	GetLogger() logr.Logger
	// GetControllerOptions returns the defaults of controllers.
	GetControllerOptions() config.Controller
	// GetConverterRegistry returns the converters of conversion webhooks.
	GetConverterRegistry() conversion.Registry
}

// Options are the options of [New].
type Options struct {
	// Scheme has the Go types of the kinds. Nil means the scheme of client-go.
	Scheme *runtime.Scheme
	// MapperProvider creates the mapper.
	MapperProvider func(c *rest.Config, httpClient *http.Client) (meta.RESTMapper, error)
	// Cache are the options of the cache.
	Cache cache.Options
	// NewCache creates the cache.
	NewCache cache.NewCacheFunc
	// Client are the options of the client.
	Client client.Options
	// NewClient creates the client.
	NewClient client.NewClientFunc
	// Logger is the logger of the manager.
	Logger logr.Logger
	// LeaderElection runs the controllers in one process at a time.
	LeaderElection bool
	// LeaderElectionResourceLock is the kind of the lock. Empty means leases.
	LeaderElectionResourceLock string
	// LeaderElectionNamespace is the namespace of the lock. Empty means the namespace of the pod.
	LeaderElectionNamespace string
	// LeaderElectionID is the name of the lock.
	LeaderElectionID string
	// LeaderElectionConfig is the client configuration for the lock. Nil means the manager's configuration.
	LeaderElectionConfig *rest.Config
	// LeaderElectionReleaseOnCancel releases the lock when the manager ends.
	LeaderElectionReleaseOnCancel bool
	// LeaderElectionLabels are labels of the lock.
	LeaderElectionLabels map[string]string
	// LeaderElectionResourceLockInterface replaces the lock on the server.
	LeaderElectionResourceLockInterface resourcelock.Interface
	// LeaseDuration is the time after which other processes replace an unresponsive leader. Nil means 15 s.
	LeaseDuration *time.Duration
	// RenewDeadline is the time that a leader continues without a renewal. Nil means 10 s.
	RenewDeadline *time.Duration
	// RetryPeriod is the interval between attempts. Nil means 2 s.
	RetryPeriod *time.Duration
	// Metrics are the options of the metrics server.
	Metrics metricsserver.Options
	// HealthProbeBindAddress is the address of the probes; empty and "0" disable them.
	HealthProbeBindAddress string
	// ReadinessEndpointName is the path of the readiness probe. Empty means /readyz.
	ReadinessEndpointName string
	// LivenessEndpointName is the path of the liveness probe. Empty means /healthz.
	LivenessEndpointName string
	// PprofBindAddress is the address of profiles; empty and "0" disable them.
	PprofBindAddress string
	// WebhookServer is the webhook server. Nil creates one with default options.
	WebhookServer webhook.Server
	// BaseContext returns the parent of the runnables' contexts.
	BaseContext BaseContextFunc
	// EventBroadcaster records core/v1 events.
	//
	// Deprecated: the manager has its own broadcasters.
	EventBroadcaster record.EventBroadcaster
	// GracefulShutdownTimeout limits the shutdown of runnables. Nil means 30 s, and negative values mean no limit.
	GracefulShutdownTimeout *time.Duration
	// Controller has the default options of controllers.
	Controller config.Controller
}

// BaseContextFunc returns a context.
type BaseContextFunc func() context.Context

// Runnable is a component that a manager runs.
type Runnable interface {
	// Start runs until the context ends. An error ends the manager.
	Start(context.Context) error
}

// RunnableFunc implements [Runnable] with a function.
type RunnableFunc func(context.Context) error

// Start calls r.
func (r RunnableFunc) Start(ctx context.Context) error { return r(ctx) }

// LeaderElectionRunnable can restrict itself to the leader.
type LeaderElectionRunnable interface {
	// NeedLeaderElection reports whether the runnable runs only in the leader.
	NeedLeaderElection() bool
}

const (
	defaultLeaseDuration           = 15 * time.Second
	defaultRenewDeadline           = 10 * time.Second
	defaultRetryPeriod             = 2 * time.Second
	defaultGracefulShutdownTimeout = 30 * time.Second
)

// complete sets the defaults.
func (o *Options) complete() {
	setDefault(&o.LeaseDuration, new(defaultLeaseDuration))
	setDefault(&o.RenewDeadline, new(defaultRenewDeadline))
	setDefault(&o.RetryPeriod, new(defaultRetryPeriod))
	setDefault(&o.GracefulShutdownTimeout, new(defaultGracefulShutdownTimeout))
	setDefault(&o.ReadinessEndpointName, "/readyz")
	setDefault(&o.LivenessEndpointName, "/healthz")
	if o.Logger.GetSink() == nil {
		o.Logger = log.Log
	}
	if o.Controller.Logger.GetSink() == nil {
		o.Controller.Logger = o.Logger
	}
	if o.BaseContext == nil {
		o.BaseContext = context.Background
	}
	if o.WebhookServer == nil {
		o.WebhookServer = webhook.NewServer(webhook.Options{})
	}
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// New returns a manager for the server of config. It starts nothing.
func New(config *rest.Config, options Options) (Manager, error) {
	if config == nil {
		return nil, errors.New("must specify Config")
	}
	process := simulated.Current()
	if process != nil {
		config = simulate(process, config, &options)
	}
	options.complete()
	m := newManager(options)
	m.process = process
	if err := m.connect(config); err != nil {
		return nil, err
	}
	if err := m.prepareElection(config); err != nil {
		return nil, err
	}
	var err error
	if m.metricsServer, err = metricsserver.NewServer(options.Metrics, config, m.GetHTTPClient()); err != nil {
		return nil, err
	}
	if m.probes, err = listen(options.HealthProbeBindAddress); err != nil {
		return nil, err
	}
	if m.profiles, err = listen(options.PprofBindAddress); err != nil {
		return nil, fmt.Errorf("failed to new pprof listener: %w", err)
	}
	return m, nil
}

// connect creates the cluster. With leader election, it does not send requests after the end of the term.
func (m *manager) connect(config *rest.Config) error {
	guarded := config
	if m.options.LeaderElection {
		m.fence = kleaderelection.NewFence()
		guarded = m.fence.Guard(config)
	}
	httpClient, err := rest.HTTPClientFor(guarded)
	if err != nil {
		return err
	}
	m.Cluster, err = cluster.New(config, func(o *cluster.Options) {
		o.HTTPClient, o.Scheme, o.MapperProvider = httpClient, m.options.Scheme, m.options.MapperProvider
		o.Logger, o.EventBroadcaster = m.options.Logger, m.options.EventBroadcaster
		o.NewCache, o.Cache = m.options.NewCache, m.options.Cache
		o.NewClient, o.Client = m.options.NewClient, m.options.Client
	})
	return err
}

// prepareElection creates the lock.
func (m *manager) prepareElection(config *rest.Config) error {
	if !m.options.LeaderElection {
		return nil
	}
	if m.lock = m.options.LeaderElectionResourceLockInterface; m.lock != nil {
		return nil
	}
	if m.options.LeaderElectionConfig != nil {
		config = m.options.LeaderElectionConfig
	}
	var provider recorder.Provider = m.Cluster
	var err error
	m.lock, err = leaderelection.NewResourceLock(config, provider, leaderelection.Options{
		LeaderElection:             true,
		LeaderElectionResourceLock: m.options.LeaderElectionResourceLock,
		LeaderElectionID:           m.options.LeaderElectionID,
		LeaderElectionNamespace:    m.options.LeaderElectionNamespace,
		RenewDeadline:              *m.options.RenewDeadline,
		LeaderLabels:               m.options.LeaderElectionLabels,
	})
	return err
}

// listen opens an address. It returns nil for an empty address and "0".
func listen(address string) (net.Listener, error) {
	if address == "" || address == "0" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("error listening on %s: %w", address, err)
	}
	return listener, nil
}
