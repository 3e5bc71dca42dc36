package manager

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctrl-dev/kctrl/runtime/certificate"
	"github.com/kctrl-dev/kctrl/runtime/internal/authority"
	"github.com/kctrl-dev/kctrl/runtime/object"
	"github.com/kctrl-dev/kctrl/runtime/webhook/local"
	"github.com/kctrl-dev/kctrl/runtime/webhook/server"
)

// Webhooks returns the server of webhooks, which webhook.For registers them with. The first call makes it: a program that has no
// webhooks serves none. Made before Run it listens before the caches start, so that kinds can be read that it converts; made while the
// manager runs, as by who waits for a certificate first, it listens at once. After the end of Run the error is [ErrStopped].
//
// Its certificate is in files ([WebhookOptions].CertDir), or is made and rotated by the manager and kept in a Secret for all replicas, and
// the objects in [WebhookOptions].Targets are made to trust it. That takes these rights, of which the first two are best given by a Role, and create is
// all that cannot be given for one name:
//
//	// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
//	// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,resourceNames=webhook-certificates,verbs=get;list;watch;update
//	// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,resourceNames=NAME,verbs=get;list;watch;patch
//	// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=NAME,verbs=get;list;watch;patch
//
// Or, for development, the server is told to the API server by URL ([WebhookOptions].Manifests), which takes nothing at all.
func (m *Manager) Webhooks() (*server.Server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.webhooks != nil {
		return m.webhooks, nil
	}
	s, run, err := m.newWebhooks()
	if err == nil && m.opts.Webhook.BindAddress != Off {
		err = m.serveLocked(run)
	}
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	m.webhooks = s
	return s, nil
}

// serveLocked makes a server run with the others. One of a manager that has started has its address at once.
func (m *Manager) serveLocked(run webhookServer) error {
	switch {
	case m.ended:
		return ErrStopped
	case m.started:
		if err := run.Listen(context.Background()); err != nil {
			return err
		}
	default:
		m.servers = append(m.servers, run)
	}
	if err := m.enlistLocked(servers, run); err != nil {
		run.Close()
		return err
	}
	m.readyz.Add("webhooks", func(*http.Request) error { return run.Ready() })
	return nil
}

// webhookServer is a server of webhooks as a runnable.
type webhookServer interface {
	listener
	Ready() error
}

// newWebhooks returns the server, and what runs it.
func (m *Manager) newWebhooks() (*server.Server, webhookServer, error) {
	opts := server.Options{
		Address: m.opts.Webhook.BindAddress, HTTP2: m.opts.Webhook.HTTP2, TLSOpts: m.opts.Webhook.TLSOpts, Patience: m.patience(), Logger: m.logger, Metrics: m.metrics,
	}
	switch o := &m.opts.Webhook; {
	case o.BindAddress == Off:
		s := server.New(opts)
		return s, s, nil
	case len(o.Manifests) > 0 || o.URL != "":
		return m.newLocalWebhooks(opts)
	case o.CertDir != "":
		files, err := certificateFiles(o.CertDir, o.CertName, o.KeyName, m.logger)
		if err != nil {
			return nil, nil, err
		}
		files.Measure(m.metrics)
		opts.Certificates = files
	case len(o.Targets) > 0:
		authority, err := m.newAuthority()
		if err != nil {
			return nil, nil, err
		}
		opts.Certificates = authority
	case o.given():
	default:
		if files, err := certificateFiles(mountedCertDir(), o.CertName, o.KeyName, m.logger); err == nil {
			files.Measure(m.metrics)
			opts.Certificates = files
			break
		}
		return nil, nil, errors.New("there is no certificate: set Webhook.Targets (--webhook-targets) or Webhook.CertDir (--webhook-cert-path), or, for development, Webhook.Manifests (--webhook-manifests); or serve none, with the address 0")
	}
	s := server.New(opts)
	return s, s, nil
}

// mountedCertDir is where deployments of kubebuilder have mounted a certificate.
func mountedCertDir() string {
	return filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
}

// certificateFiles returns the certificate in a directory. Empty names are tls.crt and tls.key.
func certificateFiles(dir, cert, key string, logger *slog.Logger) (*certificate.Files, error) {
	return certificate.NewFiles(filepath.Join(dir, cmp.Or(cert, "tls.crt")), filepath.Join(dir, cmp.Or(key, "tls.key")), logger)
}

// given reports whether TLSOpts bring a certificate.
func (o *WebhookOptions) given() bool {
	config := &tls.Config{}
	for _, change := range o.TLSOpts {
		change(config)
	}
	return config.GetCertificate != nil || config.GetConfigForClient != nil || len(config.Certificates) > 0
}

// newAuthority returns the authority whose certificates are in a Secret.
func (m *Manager) newAuthority() (*authority.Authority, error) {
	if lifetime := m.opts.Webhook.CertLifetime; !m.opts.Webhook.validLifetime() {
		return nil, fmt.Errorf("Webhook.CertLifetime (--webhook-cert-lifetime) is %s; want at least %s", lifetime, minCertLifetime)
	}
	opts := authority.Options{Client: m.system, Logger: m.logger, Lifetime: m.opts.Webhook.CertLifetime}
	for _, text := range m.opts.Webhook.Targets {
		target, err := authority.ParseTarget(text)
		if err != nil {
			return nil, err
		}
		opts.Targets = append(opts.Targets, target)
	}
	namespace := m.opts.Webhook.SecretNamespace
	if namespace == "" {
		var err error
		namespace, err = podNamespace(namespaceFile)
		switch {
		case errors.Is(err, errNoPod):
			return nil, errors.New("a certificate of its own outside of a pod needs Webhook.SecretNamespace (--webhook-secret-namespace)")
		case err != nil:
			return nil, fmt.Errorf("the namespace of the Secret: %w", err)
		}
	}
	opts.Secret = object.Key{Namespace: namespace, Name: cmp.Or(m.opts.Webhook.Secret, defaultWebhookSecret)}
	return authority.New(opts)
}

// localWebhooks is a server that the API server reaches by URL. It is told so while it runs.
type localWebhooks struct {
	*server.Server
	authority *authority.Authority
	manager   *Manager
	url       string // without a port it has that of the server
	installed chan struct{}
	manifests []*unstructured.Unstructured
}

func (m *Manager) newLocalWebhooks(opts server.Options) (*server.Server, webhookServer, error) {
	base := cmp.Or(m.opts.Webhook.URL, "https://127.0.0.1")
	parsed, err := url.Parse(base)
	if err != nil || parsed.Scheme != "https" || parsed.Hostname() == "" || parsed.Path != "" {
		return nil, nil, fmt.Errorf("Webhook.URL (--webhook-url) %q: want one such as https://127.0.0.1:9443", base)
	}
	var manifests []*unstructured.Unstructured
	if len(m.opts.Webhook.Manifests) > 0 {
		if manifests, err = local.Load(m.opts.Webhook.Manifests...); err != nil {
			return nil, nil, err
		}
	}
	if here, ok := m.config.Transport.(inProcess); ok && m.opts.Webhook.URL == "" && opts.Address == "" {
		s := server.New(opts)
		return s, &hostedWebhooks{&localWebhooks{Server: s, manager: m, installed: make(chan struct{}), manifests: manifests}, here}, nil
	}
	opts.Address = cmp.Or(opts.Address, "127.0.0.1:0")
	authority, err := authority.New(authority.Options{Names: []string{parsed.Hostname()}, Logger: m.logger})
	if err != nil {
		return nil, nil, fmt.Errorf("Webhook.URL (--webhook-url) %q: %w", base, err)
	}
	opts.Certificates = authority
	s := server.New(opts)
	return s, &localWebhooks{s, authority, m, base, make(chan struct{}), manifests}, nil
}

// Run serves until ctx ends, and meanwhile has the API server call.
func (l *localWebhooks) Run(ctx context.Context) error {
	// The server outlives what the API server knows of it.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithCancel(ctx)
	var served error
	var all sync.WaitGroup
	all.Go(func() {
		served = l.Server.Run(serving)
		cancel()
	})
	err := l.install(ctx)
	cancel()
	stop()
	all.Wait()
	return errors.Join(served, err)
}

func (l *localWebhooks) install(ctx context.Context) error {
	bundle, err := l.authority.Bundle(ctx)
	if err != nil {
		return err
	}
	parsed, err := url.Parse(l.url)
	if err != nil {
		return err
	}
	if parsed.Port() == "" {
		_, port, err := net.SplitHostPort(l.Server.Addr().String())
		if err != nil {
			return err
		}
		parsed.Host = net.JoinHostPort(parsed.Hostname(), port)
	}
	return l.installAt(ctx, parsed.String(), bundle)
}

// installAt has the API server call the webhooks at a URL until ctx ends.
func (l *localWebhooks) installAt(ctx context.Context, url string, bundle []byte) error {
	var kinds []schema.GroupKind
	if converter, ok := l.Server.At("/convert").(interface{ Kinds() []schema.GroupKind }); ok {
		kinds = converter.Kinds()
	}
	manifests, err := l.served()
	if err != nil {
		return err
	}
	i := &local.Installation{
		Client: l.manager.system, URL: url, Bundle: bundle, Configurations: manifests, Kinds: kinds, Logger: l.manager.logger,
	}
	return i.Run(ctx, func() { close(l.installed) })
}

// inProcess is the transport of an API server in this process, which calls webhooks without a network.
type inProcess interface {
	HandleWebhooks(handler http.Handler) (url string, release func())
}

// hostedWebhooks are called by an API server in this process: they listen nowhere and have no certificate.
type hostedWebhooks struct {
	*localWebhooks
	here inProcess
}

// Listen does nothing.
func (*hostedWebhooks) Listen(context.Context) error { return nil }

// Close does nothing.
func (*hostedWebhooks) Close() {}

// Run has the API server call until ctx ends.
func (h *hostedWebhooks) Run(ctx context.Context) error {
	url, release := h.here.HandleWebhooks(h.Server)
	defer release()
	return h.installAt(ctx, url, nil)
}

// Ready returns an error until the API server calls the webhooks.
func (h *hostedWebhooks) Ready() error {
	select {
	case <-h.installed:
		return nil
	default:
		return errNotInstalled
	}
}

var errNotInstalled = errors.New("the API server has not been told of the webhooks yet")

// served returns the manifests without the webhooks whose path nothing serves here: a test sets up one of several, and the API server
// would refuse all that the others are to be asked about.
func (l *localWebhooks) served() ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, manifest := range l.manifests {
		webhooks, _, err := unstructured.NestedSlice(manifest.Object, "webhooks")
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", manifest.GetKind(), manifest.GetName(), err)
		}
		served := slices.DeleteFunc(slices.Clone(webhooks), func(webhook any) bool {
			fields, _ := webhook.(map[string]any)
			path, found, err := unstructured.NestedString(fields, "clientConfig", "service", "path")
			if err != nil || !found || l.Server.At(path) != nil {
				return false // one that is by URL is somebody else's
			}
			l.manager.logger.Warn("a webhook is not installed, since nothing serves its path here", "webhook", fields["name"], "path", path)
			return true
		})
		if len(served) == len(webhooks) {
			all = append(all, manifest)
		} else if len(served) > 0 {
			manifest = manifest.DeepCopy()
			manifest.Object["webhooks"] = served
			all = append(all, manifest)
		}
	}
	return all, nil
}

// Ready returns an error until the API server calls the webhooks.
func (l *localWebhooks) Ready() error {
	select {
	case <-l.installed:
		return l.Server.Ready()
	default:
		return errNotInstalled
	}
}
