// Package webhook serves admission and conversion webhooks. Its server has the limits of kctrl's webhook server.
package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"gomodules.xyz/jsonpatch/v2"

	kserver "github.com/kctrl-dev/kctrl/runtime/webhook/server"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/internal/httpserver"
	logf "sigs.k8s.io/controller-runtime/pkg/internal/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

var log = logf.RuntimeLog.WithName("webhook")

// Aliases of types in package admission.
type (
	// CustomDefaulter is a defaulter of objects of any type.
	//
	// Deprecated: use admission.Defaulter.
	CustomDefaulter = admission.CustomDefaulter
	// CustomValidator is a validator of objects of any type.
	//
	// Deprecated: use admission.Validator.
	CustomValidator = admission.CustomValidator
	// AdmissionRequest is an admission request.
	AdmissionRequest = admission.Request
	// AdmissionResponse is the response to an admission request.
	AdmissionResponse = admission.Response
	// Admission is an admission webhook.
	Admission = admission.Webhook
	// AdmissionHandler handles admission requests.
	AdmissionHandler = admission.Handler
	// AdmissionDecoder decodes the objects of requests.
	AdmissionDecoder = admission.Decoder
	// JSONPatchOp is one operation of a JSON patch.
	JSONPatchOp = jsonpatch.Operation
)

// Functions from package admission.
var (
	// Allowed returns a response that admits the object.
	Allowed = admission.Allowed
	// Denied returns a response that rejects the object.
	Denied = admission.Denied
	// Patched returns a response that admits the object with changes.
	Patched = admission.Patched
	// Errored returns the response for an internal error.
	Errored = admission.Errored
)

// DefaultPort is the default port.
var DefaultPort = 9443

// Server serves webhooks.
type Server interface {
	// NeedLeaderElection returns false: every process serves webhooks.
	NeedLeaderElection() bool
	// Register adds a webhook at a path. It panics if the path is in use.
	Register(path string, hook http.Handler)
	// Start serves until ctx ends.
	Start(ctx context.Context) error
	// StartedChecker returns a check that the server accepts connections.
	StartedChecker() healthz.Checker
	// WebhookMux returns the mux of the server.
	WebhookMux() *http.ServeMux
}

// Options are the options of [NewServer].
type Options struct {
	// Host is the address to listen on. Empty means all addresses.
	Host string
	// Port is the port. 0 means [DefaultPort], and negative values disable the server.
	Port int
	// CertDir is the directory of the certificate. Empty means k8s-webhook-server/serving-certs in the temporary
	// directory.
	CertDir string
	// CertName is the file of the certificate. Empty means tls.crt.
	CertName string
	// KeyName is the file of the key. Empty means tls.key.
	KeyName string
	// ClientCAName is the file of the certificate authority of clients. Empty accepts all clients.
	ClientCAName string
	// TLSOpts change the TLS configuration.
	TLSOpts []func(*tls.Config)
	// WebhookMux is the mux of the server. Nil creates one.
	WebhookMux *http.ServeMux
}

// NewServer returns a server.
func NewServer(o Options) Server { return &DefaultServer{Options: o} }

// DefaultServer is the server of [NewServer].
type DefaultServer struct {
	// Options are the options. They must not change after the first call of a method.
	Options Options

	complete sync.Once
	bounded  *kserver.Server
	mux      *http.ServeMux

	mu      sync.Mutex
	paths   map[string]struct{}
	started bool
}

func (s *DefaultServer) setDefaults() {
	s.complete.Do(func() {
		o := &s.Options
		setDefault(&o.Port, DefaultPort)
		setDefault(&o.CertDir, filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs"))
		setDefault(&o.CertName, "tls.crt")
		setDefault(&o.KeyName, "tls.key")
		if o.WebhookMux == nil {
			o.WebhookMux = http.NewServeMux()
		}
		s.mux, s.paths = o.WebhookMux, map[string]struct{}{}
		s.bounded = kserver.New(kserver.Options{Metrics: metrics.Kctrl(), Logger: logf.Slog(log)})
	})
}

func setDefault[T comparable](field *T, value T) {
	var unset T
	if *field == unset {
		*field = value
	}
}

// NeedLeaderElection implements [Server].
func (*DefaultServer) NeedLeaderElection() bool { return false }

// WebhookMux implements [Server].
func (s *DefaultServer) WebhookMux() *http.ServeMux {
	s.setDefaults()
	return s.mux
}

// Register implements [Server].
func (s *DefaultServer) Register(path string, hook http.Handler) {
	s.setDefaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.paths[path]; taken {
		panic(fmt.Errorf("can't register duplicate path: %v", path))
	}
	s.paths[path] = struct{}{}
	handler := hook
	// The server with limits supports only exact paths, not patterns.
	if !strings.ContainsAny(path, " {}") && !strings.HasSuffix(path, "/") {
		if err := s.bounded.Handle(path, hook, kserver.MaxConversion); err != nil {
			panic(err)
		}
		handler = s.bounded
	}
	s.mux.Handle(path, handler)
	message := "Registering webhook"
	if s.Options.Port < 0 {
		message = "Webhook is disabled"
	}
	log.WithValues("path", path).Info(message)
}

// Start implements [Server].
func (s *DefaultServer) Start(ctx context.Context) error {
	s.setDefaults()
	if s.Options.Port < 0 {
		log.Info("Webhook server is disabled")
		return nil
	}
	log.Info("Starting webhook server")
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	config, err := s.tls(ctx, &watching)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(s.Options.Host, strconv.Itoa(s.Options.Port))
	listener, err := tls.Listen("tcp", address, config)
	if err != nil {
		return err
	}
	log.Info("Serving webhook server", "host", s.Options.Host, "port", s.Options.Port)
	s.mu.Lock()
	s.started = true
	s.mu.Unlock()
	return httpserver.Serve(ctx, httpserver.New(ctx, s.mux), listener, time.Minute)
}

// tls returns the TLS configuration. A certificate watcher runs in watching until ctx ends.
func (s *DefaultServer) tls(ctx context.Context, watching *sync.WaitGroup) (*tls.Config, error) {
	config := &tls.Config{NextProtos: []string{"h2"}}
	for _, change := range s.Options.TLSOpts {
		change(config)
	}
	dir := s.Options.CertDir
	if config.GetCertificate == nil {
		watcher, err := certwatcher.New(filepath.Join(dir, s.Options.CertName), filepath.Join(dir, s.Options.KeyName))
		if err != nil {
			return nil, err
		}
		config.GetCertificate = watcher.GetCertificate
		watching.Go(func() {
			if err := watcher.Start(ctx); err != nil {
				log.Error(err, "certificate watcher error")
			}
		})
	}
	if s.Options.ClientCAName != "" {
		authority, err := os.ReadFile(filepath.Join(dir, s.Options.ClientCAName))
		if err != nil {
			return nil, fmt.Errorf("failed to read client CA cert: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(authority) {
			return nil, errors.New("failed to append client CA cert to CA pool")
		}
	}
	return config, nil
}

// StartedChecker implements [Server].
func (s *DefaultServer) StartedChecker() healthz.Checker {
	config := &tls.Config{InsecureSkipVerify: true} // checks only whether the server accepts connections
	return func(*http.Request) error {
		s.mu.Lock()
		started := s.started
		s.mu.Unlock()
		if s.Options.Port < 0 {
			return nil
		}
		if !started {
			return errors.New("webhook server has not been started yet")
		}
		dialer := &net.Dialer{Timeout: 10 * time.Second}
		conn, err := tls.DialWithDialer(dialer, "tcp", net.JoinHostPort(s.Options.Host, strconv.Itoa(s.Options.Port)), config)
		if err != nil {
			return fmt.Errorf("webhook server is not reachable: %w", err)
		}
		if err := conn.Close(); err != nil {
			return fmt.Errorf("webhook server is not reachable: closing connection: %w", err)
		}
		return nil
	}
}
