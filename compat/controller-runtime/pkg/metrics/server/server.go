// Package server serves metrics.
package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/internal/httpserver"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var log = logf.RuntimeLog.WithName("metrics")

const metricsPath = "/metrics"

// DefaultBindAddress is the default address.
var DefaultBindAddress = ":8080"

// Server serves metrics.
type Server interface {
	// AddExtraHandler adds a handler at a path.
	AddExtraHandler(path string, handler http.Handler) error
	// NeedLeaderElection returns false: every process serves metrics.
	NeedLeaderElection() bool
	// Start serves until ctx ends.
	Start(ctx context.Context) error
}

// Options are the options of [NewServer].
type Options struct {
	// SecureServing serves over TLS.
	SecureServing bool
	// BindAddress is the address. Empty means [DefaultBindAddress], and "0" disables the server.
	BindAddress string
	// ExtraHandlers are additional handlers by path.
	ExtraHandlers map[string]http.Handler
	// FilterProvider creates a filter for all handlers, for example for authorization.
	FilterProvider func(c *rest.Config, httpClient *http.Client) (Filter, error)
	// CertDir is the directory of the certificate. If it contains no certificate, the server creates one.
	CertDir string
	// CertName is the file of the certificate. Empty means tls.crt.
	CertName string
	// KeyName is the file of the key. Empty means tls.key.
	KeyName string
	// TLSOpts change the TLS configuration.
	TLSOpts []func(*tls.Config)
	// HandlerOpts change the options of the metrics handler.
	HandlerOpts []func(*promhttp.HandlerOpts)
	// ListenConfig opens the address.
	ListenConfig net.ListenConfig
}

// Filter wraps a handler.
type Filter func(log logr.Logger, handler http.Handler) (http.Handler, error)

// NewServer returns a server, or nil if the address is "0".
func NewServer(o Options, config *rest.Config, httpClient *http.Client) (Server, error) {
	o.complete()
	if o.BindAddress == "0" {
		return nil, nil
	}
	s := &server{options: o, extra: map[string]http.Handler{}, listening: make(chan struct{})}
	s.settle = sync.OnceFunc(func() { close(s.listening) })
	for path, handler := range o.ExtraHandlers {
		if err := s.AddExtraHandler(path, handler); err != nil {
			return nil, err
		}
	}
	if o.FilterProvider != nil {
		var err error
		if s.filter, err = o.FilterProvider(config, httpClient); err != nil {
			return nil, fmt.Errorf("filter provider failed to create filter for the metrics server: %w", err)
		}
	}
	return s, nil
}

func (o *Options) complete() {
	setDefault(&o.BindAddress, DefaultBindAddress)
	setDefault(&o.CertDir, filepath.Join(os.TempDir(), "k8s-metrics-server", "serving-certs"))
	setDefault(&o.CertName, "tls.crt")
	setDefault(&o.KeyName, "tls.key")
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// server is a [Server].
type server struct {
	options Options
	filter  Filter // nil if unset

	listening chan struct{} // closed when Start listens, or returns
	settle    func()        // closes listening; may be called again

	mu    sync.RWMutex
	extra map[string]http.Handler
	bound string // address of the listener; empty before Start
}

// NeedLeaderElection implements [Server].
func (*server) NeedLeaderElection() bool { return false }

// AddExtraHandler implements [Server].
func (s *server) AddExtraHandler(path string, handler http.Handler) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if path == metricsPath {
		return fmt.Errorf("overriding builtin %s endpoint is not allowed", metricsPath)
	}
	if _, taken := s.extra[path]; taken {
		return fmt.Errorf("can't register extra handler by duplicate path %q on metrics http server", path)
	}
	s.extra[path] = handler
	return nil
}

// GetBindAddr returns the address that the server listens on.
func (s *server) GetBindAddr() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.bound
}

// Listening returns a channel that is closed when the server listens, or has failed.
func (s *server) Listening() <-chan struct{} { return s.listening }

// Start implements [Server].
func (s *server) Start(ctx context.Context) error {
	log.Info("Starting metrics server")
	defer s.settle()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	listener, err := s.listen(ctx, &watching)
	if err != nil {
		return fmt.Errorf("failed to start metrics server: failed to create listener: %w", err)
	}
	s.mu.Lock()
	s.bound = listener.Addr().String()
	s.mu.Unlock()
	mux, err := s.mux()
	if err != nil {
		listener.Close()
		return fmt.Errorf("failed to start metrics server: %w", err)
	}
	s.settle()
	log.Info("Serving metrics server", "bindAddress", s.options.BindAddress, "secure", s.options.SecureServing)
	return httpserver.Serve(ctx, httpserver.New(ctx, mux), listener, time.Minute)
}

// mux returns the handlers behind the filter.
func (s *server) mux() (http.Handler, error) {
	options := promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}
	for _, change := range s.options.HandlerOpts {
		change(&options)
	}
	mux := http.NewServeMux()
	if err := s.handle(mux, metricsPath, promhttp.HandlerFor(metrics.Registry, options)); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for path, handler := range s.extra {
		if err := s.handle(mux, path, handler); err != nil {
			return nil, err
		}
	}
	return mux, nil
}

func (s *server) handle(mux *http.ServeMux, path string, handler http.Handler) error {
	if s.filter != nil {
		var err error
		if handler, err = s.filter(log.WithValues("path", path), handler); err != nil {
			return fmt.Errorf("failed to add metrics filter for path %s: %w", path, err)
		}
	}
	mux.Handle(path, handler)
	return nil
}

// listen opens the address. A certificate watcher runs in watching until ctx ends.
func (s *server) listen(ctx context.Context, watching *sync.WaitGroup) (net.Listener, error) {
	if !s.options.SecureServing {
		return s.options.ListenConfig.Listen(ctx, "tcp", s.options.BindAddress)
	}
	config := &tls.Config{NextProtos: []string{"h2"}}
	for _, change := range s.options.TLSOpts {
		change(config)
	}
	if config.GetCertificate == nil {
		if err := s.setCertificate(ctx, config, watching); err != nil {
			return nil, err
		}
	}
	listener, err := s.options.ListenConfig.Listen(ctx, "tcp", s.options.BindAddress)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(listener, config), nil
}

// setCertificate sets the certificate in the files, or a new certificate if the files do not exist.
func (s *server) setCertificate(ctx context.Context, config *tls.Config, watching *sync.WaitGroup) error {
	certPath := filepath.Join(s.options.CertDir, s.options.CertName)
	keyPath := filepath.Join(s.options.CertDir, s.options.KeyName)
	if exists(certPath) && exists(keyPath) {
		watcher, err := certwatcher.New(certPath, keyPath)
		if err != nil {
			return err
		}
		config.GetCertificate = watcher.GetCertificate
		watching.Go(func() {
			if err := watcher.Start(ctx); err != nil {
				log.Error(err, "certificate watcher error")
			}
		})
		return nil
	}
	certificate, err := selfSigned()
	if err != nil {
		return fmt.Errorf("failed to generate self-signed certificate for metrics server: %w", err)
	}
	config.Certificates = []tls.Certificate{certificate}
	return nil
}

// selfSigned returns a certificate for localhost that is valid for a year. Its key is ECDSA, because generating an RSA
// key takes more CPU time than the rest of the start of a small operator.
func selfSigned() (tls.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return tls.Certificate{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "localhost"},
		DNSNames:     []string{"localhost"}, IPAddresses: []net.IP{{127, 0, 0, 1}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !os.IsNotExist(err)
}
