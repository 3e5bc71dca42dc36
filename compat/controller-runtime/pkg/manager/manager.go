// Package manager runs the controllers of a program. Leader election is that of kctrl: requests of a term that has
// ended are not sent.
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

// Manager has what controllers share, and runs them.
type Manager interface {
	cluster.Cluster

	// Add makes the manager run a runnable.
	Add(Runnable) error
	// Elected returns a channel that is closed when the process leads, or runs without leader election.
	Elected() <-chan struct{}
	// AddMetricsServerExtraHandler serves a handler beside the metrics.
	AddMetricsServerExtraHandler(path string, handler http.Handler) error
	// AddHealthzCheck adds a check of the liveness probe.
	AddHealthzCheck(name string, check healthz.Checker) error
	// AddReadyzCheck adds a check of the readiness probe.
	AddReadyzCheck(name string, check healthz.Checker) error
	// Start runs everything until ctx ends or something fails.
	Start(ctx context.Context) error
	// GetWebhookServer returns the webhook server, which then runs with the manager.
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
	// Scheme has the Go types of the kinds; nil is that of client-go.
	Scheme *runtime.Scheme
	// MapperProvider makes the mapper.
	MapperProvider func(c *rest.Config, httpClient *http.Client) (meta.RESTMapper, error)
	// Cache are the options of the cache.
	Cache cache.Options
	// NewCache makes the cache.
	NewCache cache.NewCacheFunc
	// Client are the options of the client.
	Client client.Options
	// NewClient makes the client.
	NewClient client.NewClientFunc
	// Logger is the logger.
	Logger logr.Logger
	// LeaderElection runs the controllers in one process at a time.
	LeaderElection bool
	// LeaderElectionResourceLock is the kind of the lock; empty is leases.
	LeaderElectionResourceLock string
	// LeaderElectionNamespace is the namespace of the lock; empty is that of the pod.
	LeaderElectionNamespace string
	// LeaderElectionID is the name of the lock.
	LeaderElectionID string
	// LeaderElectionConfig is the configuration for the server of the lock; nil is that of the manager.
	LeaderElectionConfig *rest.Config
	// LeaderElectionReleaseOnCancel gives the lock back when the manager ends.
	LeaderElectionReleaseOnCancel bool
	// LeaderElectionLabels are labels of the lock.
	LeaderElectionLabels map[string]string
	// LeaderElectionResourceLockInterface is the lock, in place of one on the server.
	LeaderElectionResourceLockInterface resourcelock.Interface
	// LeaseDuration is how long others wait for a leader that gives no sign; nil is 15 s.
	LeaseDuration *time.Duration
	// RenewDeadline is how long a leader continues without a renewal; nil is 10 s.
	RenewDeadline *time.Duration
	// RetryPeriod is the time between two attempts; nil is 2 s.
	RetryPeriod *time.Duration
	// Metrics are the options of the metrics server.
	Metrics metricsserver.Options
	// HealthProbeBindAddress is the address of the probes; empty and "0" disable them.
	HealthProbeBindAddress string
	// ReadinessEndpointName is the path of the readiness probe; empty is /readyz.
	ReadinessEndpointName string
	// LivenessEndpointName is the path of the liveness probe; empty is /healthz.
	LivenessEndpointName string
	// PprofBindAddress is the address of profiles; empty and "0" disable them.
	PprofBindAddress string
	// WebhookServer is the webhook server; nil is one with its default options.
	WebhookServer webhook.Server
	// BaseContext returns the context that those of runnables are derived from.
	BaseContext BaseContextFunc
	// EventBroadcaster records core/v1 events.
	//
	// Deprecated: the manager has broadcasters of its own.
	EventBroadcaster record.EventBroadcaster
	// GracefulShutdownTimeout is how long runnables may take to end; nil is 30 s, and a negative one is no limit.
	GracefulShutdownTimeout *time.Duration
	// Controller has the defaults of controllers.
	Controller config.Controller
}

// BaseContextFunc returns a context.
type BaseContextFunc func() context.Context

// Runnable is what a manager runs.
type Runnable interface {
	// Start runs until the context ends. An error ends the manager.
	Start(context.Context) error
}

// RunnableFunc is a function as a [Runnable].
type RunnableFunc func(context.Context) error

// Start calls r.
func (r RunnableFunc) Start(ctx context.Context) error { return r(ctx) }

// LeaderElectionRunnable decides whether it runs only in the leader.
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
	options.complete()
	m := newManager(options)
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

// connect makes the cluster. With leader election its requests are not sent after the end of the term.
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

// prepareElection makes the lock.
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

// listen opens an address, or returns nil for none.
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
