package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// AddHealthz adds a check to the liveness probe, /healthz. If the probe fails, the kubelet restarts the container.
func (m *Manager) AddHealthz(name string, check func(*http.Request) error) {
	m.healthz.Add(server.Owner{}, name, check)
}

// AddReadyz adds a check to the readiness probe, /readyz.
func (m *Manager) AddReadyz(name string, check func(*http.Request) error) {
	m.readyz.Add(server.Owner{}, name, check)
}

func (m *Manager) addServers() error {
	if wanted(m.opts.HealthProbeBindAddress) {
		mux := http.NewServeMux()
		handleProbe(mux, m.opts.LivenessEndpointName, m.healthz)
		handleProbe(mux, m.opts.ReadinessEndpointName, m.readyz)
		m.addServer(httpserver.Options{Name: "probes", Address: m.opts.HealthProbeBindAddress, Handler: mux})
	}
	if wanted(m.opts.Metrics.BindAddress) {
		opts, err := m.metricsServer()
		if err != nil {
			return err
		}
		m.addServer(opts)
	}
	if wanted(m.opts.PprofBindAddress) {
		opts, err := serve.Profiles(m.opts.PprofBindAddress)
		if err != nil {
			return err
		}
		m.addServer(opts)
	}
	return nil
}

func handleProbe(mux *http.ServeMux, path string, checks *serve.Checks) {
	mux.Handle("GET "+path, checks)
	mux.HandleFunc("GET "+path+"/{name...}", checks.ServeOne)
}

func (m *Manager) addServer(opts httpserver.Options) {
	opts.Logger, opts.Patience = m.logger, m.patience()
	s := httpserver.New(opts)
	m.servers = append(m.servers, s)
	m.groups[servers] = append(m.groups[servers], s)
}

// patience returns how long servers may take to answer the last requests during a shutdown.
func (m *Manager) patience() time.Duration {
	if m.opts.GracefulShutdownTimeout < 0 {
		return httpserver.DefaultPatience
	}
	return min(httpserver.DefaultPatience, m.opts.GracefulShutdownTimeout/2)
}

// listener is a runnable server that binds its address before Run.
type listener interface {
	Runnable
	Name() string
	Listen(ctx context.Context) error
	Close()
}

func wanted(address string) bool { return address != "" && address != Off }

// listen binds the addresses of all servers, so that an address in use is reported before any group starts.
func (m *Manager) listen(ctx context.Context) error {
	for i, s := range m.servers {
		if err := s.Listen(ctx); err != nil {
			for _, open := range m.servers[:i] {
				open.Close()
			}
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
	}
	return nil
}

// metricsServer returns the server of /metrics: with TLS and for authorized clients, unless it is insecure.
func (m *Manager) metricsServer() (httpserver.Options, error) {
	o := httpserver.Options{Name: "metrics", Address: m.opts.Metrics.BindAddress}
	if m.opts.Metrics.Insecure {
		plain := &serve.Pages{}
		err := plain.Add(server.Owner{}, "/metrics", m.metrics)
		for path, page := range m.opts.Metrics.ExtraHandlers {
			err = errors.Join(err, plain.Add(server.Owner{}, path, page))
		}
		o.Handler = plain
		return o, err
	}
	if err := errors.Join(m.Handle("/metrics", m.metrics), m.Handle("/statusz", http.HandlerFunc(m.statusz))); err != nil {
		return o, err
	}
	o.Handler = serve.NewAuthorizer(m.pages, m.system, m.logger)
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if err := m.setMetricsCertificate(o.TLS); err != nil {
		return o, fmt.Errorf("metrics server: %w", err)
	}
	for _, change := range m.opts.Metrics.TLSOpts {
		change(o.TLS)
	}
	return o, nil
}

// setMetricsCertificate sets the certificate in the options' directory, or a self-signed one if there is none.
func (m *Manager) setMetricsCertificate(config *tls.Config) error {
	o := &m.opts.Metrics
	if o.CertDir == "" {
		self, err := authority.SelfSigned("manager", "localhost")
		if err == nil {
			config.Certificates = []tls.Certificate{*self}
		}
		return err
	}
	files, err := m.certificateFiles(o.CertDir, o.CertName, o.KeyName)
	if err == nil {
		config.GetCertificate = files.GetCertificate
	}
	return err
}
