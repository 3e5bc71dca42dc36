package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/kctrl-dev/kctrl/runtime/compat/simulated"
	kleaderelection "github.com/kctrl-dev/kctrl/runtime/leaderelection"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/internal/httpserver"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// manager is a [Manager].
type manager struct {
	cluster.Cluster
	options          Options
	logger           logr.Logger
	fence            *kleaderelection.Fence // nil without leader election
	lock             resourcelock.Interface // nil without leader election
	metricsServer    metricsserver.Server   // nil if disabled
	probes, profiles net.Listener           // nil if disabled
	converters       conversion.Registry
	process          *simulated.Process // nil in a program that is not simulated

	// The groups in start order.
	servers, webhooks, caches, others, warmup, leaders group

	elected chan struct{} // closed when the leader runnables have started
	failed  chan error    // has the first error
	serve   sync.Once     // adds the webhook server

	mu              sync.Mutex
	started         bool
	healthz, readyz map[string]healthz.Checker // nil without checks
	// patience limits the shutdown of runnables.
	patience time.Duration
}

func newManager(options Options) *manager {
	m := &manager{
		options: options, logger: options.Logger, converters: conversion.NewRegistry(),
		elected: make(chan struct{}), failed: make(chan error, 1), patience: *options.GracefulShutdownTimeout,
	}
	for _, g := range m.groups() {
		g.logger, g.fail = m.logger, m.fail
	}
	return m
}

func (m *manager) groups() []*group {
	return []*group{&m.servers, &m.webhooks, &m.caches, &m.others, &m.warmup, &m.leaders}
}

// fail ends the manager with err. Later errors are ignored.
func (m *manager) fail(err error) {
	select {
	case m.failed <- err:
	default:
		m.logger.Error(err, "another error ends the manager")
	}
}

// warmupRunnable is a runnable with work to do before the process becomes the leader.
type warmupRunnable interface {
	Warmup(context.Context) error
}

// Add implements [Manager].
func (m *manager) Add(r Runnable) error {
	switch r := r.(type) {
	case *Server:
		if r.NeedLeaderElection() {
			return m.leaders.add(r, nil)
		}
		return m.servers.add(r, nil)
	case interface{ GetCache() cache.Cache }:
		return m.caches.add(r.(Runnable), func(ctx context.Context) bool { return r.GetCache().WaitForCacheSync(ctx) })
	case webhook.Server:
		if m.process != nil {
			return m.webhooks.add(simulatedWebhooks{r, m.process}, nil)
		}
		return m.webhooks.add(r, nil)
	}
	if warm, ok := r.(warmupRunnable); ok {
		if err := m.warmup.add(RunnableFunc(warm.Warmup), nil); err != nil {
			return err
		}
	}
	if says, ok := r.(LeaderElectionRunnable); ok && !says.NeedLeaderElection() {
		return m.others.add(r, nil)
	}
	return m.leaders.add(r, nil)
}

// AddMetricsServerExtraHandler implements [Manager].
func (m *manager) AddMetricsServerExtraHandler(path string, handler http.Handler) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.started:
		return errors.New("unable to add new metrics handler because metrics endpoint has already been created")
	case m.metricsServer == nil:
		m.logger.Info("warn: metrics server is currently disabled, registering extra handler will be ignored", "path", path)
		return nil
	}
	return m.metricsServer.AddExtraHandler(path, handler)
}

// AddHealthzCheck implements [Manager].
func (m *manager) AddHealthzCheck(name string, check healthz.Checker) error {
	return m.addCheck(&m.healthz, name, check)
}

// AddReadyzCheck implements [Manager].
func (m *manager) AddReadyzCheck(name string, check healthz.Checker) error {
	return m.addCheck(&m.readyz, name, check)
}

func (m *manager) addCheck(checks *map[string]healthz.Checker, name string, check healthz.Checker) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started {
		return errors.New("unable to add new checker because healthz endpoint has already been created")
	}
	if *checks == nil {
		*checks = map[string]healthz.Checker{}
	}
	(*checks)[name] = check
	return nil
}

// GetWebhookServer implements [Manager].
func (m *manager) GetWebhookServer() webhook.Server {
	m.serve.Do(func() {
		if err := m.Add(m.options.WebhookServer); err != nil {
			panic(fmt.Sprintf("unable to add webhook server to the controller manager: %s", err))
		}
	})
	return m.options.WebhookServer
}

// GetConverterRegistry implements [Manager].
func (m *manager) GetConverterRegistry() conversion.Registry { return m.converters }

// GetLogger implements [Manager].
func (m *manager) GetLogger() logr.Logger { return m.logger }

// GetControllerOptions implements [Manager].
func (m *manager) GetControllerOptions() config.Controller { return m.options.Controller }

// Elected implements [Manager].
func (m *manager) Elected() <-chan struct{} { return m.elected }

// Start implements [Manager].
func (m *manager) Start(ctx context.Context) (err error) {
	if m.process != nil {
		return m.startSimulated(ctx)
	}
	return m.start(ctx)
}

func (m *manager) start(ctx context.Context) (err error) {
	m.mu.Lock()
	again := m.started
	m.started = true
	m.mu.Unlock()
	if again {
		return errors.New("manager already started")
	}
	if err := m.addServers(); err != nil {
		return err
	}
	base := logr.NewContext(m.options.BaseContext(), m.logger)
	for _, g := range []*group{&m.servers, &m.webhooks, &m.caches, &m.others, &m.warmup} {
		g.start(ctx, base)
	}
	election := m.elect(ctx, base)
	select {
	case <-ctx.Done():
	case err = <-m.failed:
	}
	return errors.Join(err, m.stop(election))
}

// addServers adds the cluster and the servers of the options.
func (m *manager) addServers() error {
	if err := m.Add(m.Cluster); err != nil {
		return fmt.Errorf("failed to add cluster to runnables: %w", err)
	}
	if m.metricsServer != nil {
		if err := m.servers.add(m.metricsServer, listening(m.metricsServer)); err != nil {
			return fmt.Errorf("failed to add metrics server: %w", err)
		}
	}
	if m.probes != nil {
		server := httpserver.New(context.Background(), m.probeMux())
		if err := m.Add(&Server{Name: "health probe", Server: server, Listener: m.probes}); err != nil {
			return fmt.Errorf("failed to add health probe server: %w", err)
		}
	}
	if m.profiles != nil {
		server := httpserver.New(context.Background(), profileMux())
		if err := m.Add(&Server{Name: "pprof", Server: server, Listener: m.profiles}); err != nil {
			return fmt.Errorf("failed to add pprof server: %w", err)
		}
	}
	return nil
}

// listening returns a function that waits until the server listens. It returns nil for a server from elsewhere.
func listening(server metricsserver.Server) func(context.Context) bool {
	s, ok := server.(interface{ Listening() <-chan struct{} })
	if !ok {
		return nil
	}
	return func(ctx context.Context) bool {
		select {
		case <-s.Listening():
			return true
		case <-ctx.Done():
			return false
		}
	}
}

func (m *manager) probeMux() *http.ServeMux {
	mux := http.NewServeMux()
	for path, checks := range map[string]map[string]healthz.Checker{
		m.options.ReadinessEndpointName: m.readyz, m.options.LivenessEndpointName: m.healthz,
	} {
		if checks != nil {
			handler := http.StripPrefix(path, &healthz.Handler{Checks: checks})
			mux.Handle(path, handler)
			mux.Handle(path+"/", handler)
		}
	}
	return mux
}

func profileMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// stop stops the groups, within the patience of the manager, and then ends the election.
func (m *manager) stop(election *election) error {
	m.mu.Lock()
	patience := m.patience
	m.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	if patience >= 0 {
		ctx, cancel = context.WithTimeout(context.Background(), patience)
	}
	defer cancel()
	warm := make(chan struct{})
	go func() {
		defer close(warm)
		m.logger.Info("Stopping and waiting for warmup runnables")
		m.warmup.stop(ctx)
	}()
	for _, step := range []struct {
		name string
		*group
	}{
		{"non leader election runnables", &m.others}, {"leader election runnables", &m.leaders},
		{"caches", &m.caches}, {"webhooks", &m.webhooks}, {"HTTP servers", &m.servers},
	} {
		m.logger.Info("Stopping and waiting for " + step.name)
		step.stop(ctx)
	}
	<-warm
	late := ctx.Err()
	m.logger.Info("Wait completed, proceeding to shutdown the manager")
	election.end()
	if late != nil && patience > 0 {
		return fmt.Errorf("failed waiting for all runnables to end within grace period of %s: %w", patience, late)
	}
	return nil
}

// Server runs an HTTP server as a [Runnable].
type Server struct {
	// Name is the name in logs.
	Name string
	// Server is the server.
	Server *http.Server
	// Listener is the listener to serve on. Nil means the address of the server.
	Listener net.Listener
	// OnlyServeWhenLeader runs the server only in the leader.
	OnlyServeWhenLeader bool
	// ShutdownTimeout limits the time of requests after the end of the context. Nil means no limit.
	ShutdownTimeout *time.Duration
}

var (
	_ Runnable               = (*Server)(nil)
	_ LeaderElectionRunnable = (*Server)(nil)
)

// Start implements [Runnable].
func (s *Server) Start(ctx context.Context) error {
	address := s.Server.Addr
	if s.Listener != nil {
		address = s.Listener.Addr().String()
	}
	logger := log.FromContext(ctx).WithValues("name", s.Name, "addr", address)
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		logger.Info("shutting down server")
		limit, cancel := context.WithCancel(context.Background())
		if s.ShutdownTimeout != nil {
			limit, cancel = context.WithTimeout(context.Background(), *s.ShutdownTimeout)
		}
		defer cancel()
		if err := s.Server.Shutdown(limit); err != nil {
			logger.Error(err, "error shutting down server")
		}
	})
	logger.Info("starting server")
	var err error
	if s.Listener != nil {
		err = s.Server.Serve(s.Listener)
	} else {
		err = s.Server.ListenAndServe()
	}
	if !stop() {
		<-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// NeedLeaderElection implements [LeaderElectionRunnable].
func (s *Server) NeedLeaderElection() bool { return s.OnlyServeWhenLeader }
