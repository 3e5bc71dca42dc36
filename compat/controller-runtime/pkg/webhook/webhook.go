// Package webhook serves admission and conversion webhooks. Requests are worked on within the bounds of kctrl's server.
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

// Names of package admission.
type (
	// CustomDefaulter is a defaulter of objects of any type.
	//
	// Deprecated: use admission.Defaulter.
	CustomDefaulter = admission.CustomDefaulter
	// CustomValidator is a validator of objects of any type.
	//
	// Deprecated: use admission.Validator.
	CustomValidator = admission.CustomValidator
	// AdmissionRequest is a request for admission.
	AdmissionRequest = admission.Request
	// AdmissionResponse is the answer to a request for admission.
	AdmissionResponse = admission.Response
	// Admission is an admission webhook.
	Admission = admission.Webhook
	// AdmissionHandler answers requests for admission.
	AdmissionHandler = admission.Handler
	// AdmissionDecoder decodes the objects of requests.
	AdmissionDecoder = admission.Decoder
	// JSONPatchOp is one operation of a JSON patch.
	JSONPatchOp = jsonpatch.Operation
)

// Functions of package admission.
var (
	// Allowed returns a response that admits the object.
	Allowed = admission.Allowed
	// Denied returns a response that rejects the object.
	Denied = admission.Denied
	// Patched returns a response that admits the object with changes.
	Patched = admission.Patched
	// Errored returns the response for an error of the webhook.
	Errored = admission.Errored
)

// DefaultPort is the port if the options have none.
var DefaultPort = 9443

// Server serves webhooks.
type Server interface {
	// NeedLeaderElection returns false: every process serves webhooks.
	NeedLeaderElection() bool
	// Register serves a webhook at a path. It panics if the path is taken.
	Register(path string, hook http.Handler)
	// Start serves until ctx ends.
	Start(ctx context.Context) error
	// StartedChecker returns a check of whether the server can be reached.
	StartedChecker() healthz.Checker
	// WebhookMux returns the mux of the server.
	WebhookMux() *http.ServeMux
}

// Options are the options of [NewServer].
type Options struct {
	// Host is the address to listen on; empty is all.
	Host string
	// Port is the port; 0 is [DefaultPort], and a negative one disables the server.
	Port int
	// CertDir is the directory of the certificate; empty is k8s-webhook-server/serving-certs in the temporary directory.
	CertDir string
	// CertName is the file of the certificate; empty is tls.crt.
	CertName string
	// KeyName is the file of the key; empty is tls.key.
	KeyName string
	// ClientCAName is the file of the authority of clients; empty accepts all clients.
	ClientCAName string
	// TLSOpts change how the server speaks TLS.
	TLSOpts []func(*tls.Config)
	// WebhookMux is the mux of the server; nil makes one.
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
	// Patterns of a mux are not for the bounded server, which knows paths.
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

// tls returns the configuration of TLS. A watcher of certificates runs in watching until ctx ends.
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
	config := &tls.Config{InsecureSkipVerify: true} // only whether it can be reached
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
