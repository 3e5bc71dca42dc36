package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/internal/httpserver"
	"github.com/kctrl-dev/kctrl/runtime/internal/serve"
	"github.com/kctrl-dev/kctrl/runtime/metrics"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// addServers adds the servers that the options enable.
func (m *Manager) addServers() error {
	if wanted(m.opts.HealthProbeBindAddress) {
		m.addServer(probeServer(m.opts, m.healthz, m.readyz))
	}
	if wanted(m.opts.Metrics.BindAddress) {
		opts, err := metricsServer(m)
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
func metricsServer(m *Manager) (httpserver.Options, error) {
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
	var err error
	if o.TLS, err = serverTLS(&m.opts.Metrics, m.metrics, m.logger); err != nil {
		return o, fmt.Errorf("metrics server: %w", err)
	}
	for _, change := range m.opts.Metrics.TLSOpts {
		change(o.TLS)
	}
	return o, nil
}

// serverTLS returns a configuration with the certificate in the options' directory, or with a self-signed one if there
// is none.
func serverTLS(o *MetricsOptions, measures *metrics.Registry, logger *slog.Logger) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if o.CertDir == "" {
		self, err := authority.SelfSigned("manager", "localhost")
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{*self}
		return config, nil
	}
	files, err := certificateFiles(o.CertDir, o.CertName, o.KeyName, logger)
	if err != nil {
		return nil, err
	}
	files.Measure(measures)
	config.GetCertificate = files.GetCertificate
	return config, nil
}
