package manager

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

type Runnable interface {
	Start(ctx context.Context) error
}

type LeaderElectionRunnable interface{ NeedLeaderElection() bool }

type RunnableFunc func(ctx context.Context) error

func (f RunnableFunc) Start(ctx context.Context) error { return f(ctx) }

type Manager interface {
	cluster.Cluster
	Add(Runnable) error
	Elected() <-chan struct{}
	AddHealthzCheck(name string, check healthz.Checker) error
	AddReadyzCheck(name string, check healthz.Checker) error
	AddMetricsServerExtraHandler(path string, handler http.Handler) error
	Start(ctx context.Context) error
	GetWebhookServer() webhook.Server
	GetLogger() logr.Logger
	GetControllerOptions() config.Controller
	GetConverterRegistry() conversion.Registry
}

type Server struct {
	Name                string
	Server              *http.Server
	OnlyServeWhenLeader bool
	ShutdownTimeout     *time.Duration
}

func (*Server) Start(ctx context.Context) error { return nil }

type Options struct {
	Scheme                     *runtime.Scheme
	Metrics                    metricsserver.Options
	WebhookServer              webhook.Server
	HealthProbeBindAddress     string
	LeaderElection             bool
	LeaderElectionID           string
	LeaseDuration              *time.Duration
	ReadinessEndpointName      string
	LivenessEndpointName       string
	LeaderElectionResourceLock string
	GracefulShutdownTimeout    *time.Duration
	BaseContext                func() context.Context
	Cache                      cache.Options
	NewCache                   cache.NewCacheFunc
	Controller                 config.Controller
	Client                     client.Options

	// Until version 0.15.
	MetricsBindAddress string
	Host               string
	Port               int
	CertDir            string
}

func New(config *rest.Config, options Options) (Manager, error) { return nil, nil }
